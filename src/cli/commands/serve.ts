import path from 'node:path'
import { serveHost } from '#host/serveHost.ts'
import { defineCommand } from '../command.ts'
import { watchInterrupts } from '../interrupt.ts'
import { integer, text } from '../options.ts'

export const serve = defineCommand({
  name: 'serve',
  summary: 'Run without a window and be used from a browser on this machine',
  positionals: [],
  options: {
    port: integer('P', 'port to listen at; 0 takes any free one', {
      minimum: 0,
      maximum: 65_535,
      default: 0,
    }),
    window: text('DIR', 'folder of another built window, to try one out'),
  },
  notes: () => [
    'Only this machine can connect, and only with the address that is printed: it holds the key.',
    'Ctrl-C stops all runs after their current step; each keeps a checkpoint.',
  ],
  async run({ options }, { dataDirectory, output }) {
    const onFault = (name: string, error: unknown) =>
      output.note(
        `Fault in ${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
      )
    const host = await serveHost({
      dataDirectory,
      port: options.port,
      onFault,
      ...(options.window === undefined ? {} : { windowDirectory: path.resolve(options.window) }),
    })
    const interrupted = Promise.withResolvers<unknown>()
    using _interrupt = watchInterrupts(
      () => {
        const count = host.training()
        if (count > 0) output.note(stoppingWords(count))
        interrupted.resolve(null)
      },
      () => {
        output.note('Stopping at once.')
        host.kill()
      },
    )
    output.json({ url: host.url })
    output.line(`Turnwise is served at ${host.url}`)
    try {
      await interrupted.promise
    } finally {
      await host[Symbol.asyncDispose]()
    }
    output.line('Stopped.')
  },
})

const stoppingWords = (count: number): string =>
  `Stopping ${count === 1 ? 'a run after its' : `${count} runs after their`} current step; a checkpoint will be kept. Press Ctrl-C again to stop at once.`

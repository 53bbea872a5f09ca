import path from 'node:path'
import { defineCommand } from '../command.ts'
import { integer, text } from '../options.ts'
import { serveUntilInterrupted } from '../serving.ts'
import { buildWindow } from '../windowBuild.ts'

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
  async run({ options: { port, window } }, context) {
    if (window === undefined) await buildWindow(context.output)
    const built = window === undefined ? {} : { windowDirectory: path.resolve(window) }
    await serveUntilInterrupted({ port, ...built }, context)
  },
})

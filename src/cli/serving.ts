/** A host without a window until Ctrl-C: shared by serve and app. */
import { faultWords } from '#host/faults.ts'
import { serveHost, type ServedHost } from '#host/serveHost.ts'
import type { CommandContext } from './command.ts'
import { watchInterrupts } from './interrupt.ts'

export interface ServingOptions {
  /** 0: any free one. */
  readonly port: number
  /** Another built window than the one that came along. */
  readonly windowDirectory?: string
  /** As soon as it answers. */
  readonly onServed?: (url: string) => Promise<void>
}

/** The first Ctrl-C stops all runs after their step, the second at once. Errors: those of serveHost. */
export async function serveUntilInterrupted(
  { onServed, ...options }: ServingOptions,
  { dataDirectory, output }: CommandContext,
): Promise<void> {
  const onFault = (name: string, error: unknown) => output.note(faultWords(name, error))
  const host = await serveHost({ dataDirectory, onFault, ...options })
  if (host.cleared.count > 0) output.note(clearedWords(host.cleared))
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
    await onServed?.(host.url)
    await interrupted.promise
  } finally {
    await host[Symbol.asyncDispose]()
  }
  output.line('Stopped.')
}

const clearedWords = ({ count, bytes }: ServedHost['cleared']): string =>
  `Removed what ${count === 1 ? 'an unfinished copy' : `${count} unfinished copies`} of killed processes had left: ${(bytes / 1e6).toFixed(1)} MB.`

const stoppingWords = (count: number): string =>
  `Stopping ${count === 1 ? 'a run after its' : `${count} runs after their`} current step; a checkpoint will be kept. Press Ctrl-C again to stop at once.`

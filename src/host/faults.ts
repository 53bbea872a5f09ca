/** Reports faults in work that nobody waits for, such as timers and watchers; the next call is made as usual. */
import { terminalMessage } from '#shared/terminalText.ts'

export type OnFault = (name: string, error: unknown) => void

export const faultWords = (name: string, error: unknown): string =>
  `Fault in ${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`

export const faultToStderr: OnFault = (name, error) => {
  process.stderr.write(`${terminalMessage(faultWords(name, error))}\n`)
}

/** The action as one that never throws. */
export const guarded =
  <Input extends readonly unknown[]>(name: string, onFault: OnFault, action: (...input: Input) => void) =>
  (...input: Input): void => {
    try {
      action(...input)
    } catch (error) {
      onFault(name, error)
    }
  }

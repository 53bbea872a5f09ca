/** The command of an agent, which is kept going while its run lasts. */
import { statSync } from 'node:fs'
import path from 'node:path'
import { attempt } from '#shared/attempt.ts'
import { AppError } from '#shared/errors.ts'
import type { RunEntry } from '#shared/runs.ts'
import { runProgram } from '#host/processes/programs.ts'
import { runPaths } from '#host/workFolder/runFolder.ts'

export interface AgentCommandOptions {
  /** Program and arguments; the address is added as the last one. Absent: somebody else starts the agent. */
  readonly command: readonly string[] | undefined
  readonly run: Pick<RunEntry, 'id' | 'directory'>
  readonly key: string
  readonly say: (sentence: string) => void
}

export class AgentCommand implements Disposable {
  readonly #options: AgentCommandOptions
  readonly #over = new AbortController()
  readonly #gaveUp = new AbortController()

  constructor(options: AgentCommandOptions) {
    this.#options = options
  }

  /** Aborted, with an AppError 'run/stopped', when the agent cannot be started or has ended without ending a session. */
  get gaveUp(): AbortSignal {
    return this.#gaveUp.signal
  }

  /** Starts it for an address, and again whenever it ends before the run does. */
  start(address: string): void {
    const { command, run } = this.#options
    if (command === undefined) return
    void this.#keep(command, address).then((reason) => {
      if (reason === null) return
      const message = `${reason} The run was stopped; the sessions that ended are kept.`
      this.#gaveUp.abort(new AppError('run/stopped', message, `To resume: turnwise resume ${run.id}`))
    })
  }

  /** Returns why it is given up; null: the run is over. */
  async #keep([name = '', ...args]: readonly string[], address: string): Promise<string | null> {
    const { run, key, say } = this.#options
    const { signal } = this.#over
    const file = path.basename(name) === name ? name : path.resolve(name)
    const ended = () => attempt(() => statSync(runPaths(run.directory).sessions).size, 0)
    for (;;) {
      const before = ended()
      const env = { TURNWISE_KEY: key }
      const exit = await runProgram({ file, args: [...args, address], env, isBeside: true, signal })
      if (signal.aborted || (await isOver(address, key))) return null
      if (exit === null) return `The agent could not be started: there is no program ${name}.`
      const how = exit.signal === null ? `status ${exit.exitCode ?? 'unknown'}` : `signal ${exit.signal}`
      if (ended() === before) return `The agent ended with ${how} before it had ended a session.`
      say(
        `The agent ended with ${how} and is started again. A session that it left open counts as rollout.agent.silent says.`,
      )
    }
  }

  /** Ends it with its run. */
  [Symbol.dispose](): void {
    this.#over.abort()
  }
}

/** No session is offered any more, or nobody answers there. */
async function isOver(address: string, key: string): Promise<boolean> {
  const noRow = JSON.stringify({ row: Number.MAX_SAFE_INTEGER, wait: 0 })
  try {
    const headers = { authorization: `Bearer ${key}` }
    const answer = await fetch(`${address}/sessions`, { method: 'POST', headers, body: noRow })
    return ((await answer.json()) as { over: boolean }).over
  } catch {
    return true
  }
}

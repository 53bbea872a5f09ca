/**
 * Python files of rewards, environments and data, run by the person's own interpreter because the person trusts them. What
 * goes wrong in one call is the answer of what was asked in it; the process is then started again for the next.
 *
 *   pythonCode.ts     (here) what a file offers: functions that score, environments, rows
 *   consent.ts        the one door: what the person allowed to run on this machine
 *   pythonProcess.ts  the process and its pipes; resources/python/turnwise_adapter.py is its other end,
 *                     turnwise_imports.py its rule of imports
 */
import { z } from 'zod'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { attempt } from '#shared/attempt.ts'
import { isPythonPackage } from '#shared/config/codeReference.ts'
import { AppError } from '#shared/errors.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import type { Environment, EpisodeAction, EpisodeStart } from '#rl/rollout/environment.ts'
import type { GeneratedToken } from '#rl/rewards.ts'
import { type PromptForm, promptContent } from '#rl/rollout/prompts.ts'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import type { EnvironmentAnswer, Failed, ScoreAnswer } from '#host/sandbox/answers.ts'
import type { ScoreInput, Timed } from '#host/sandbox/sandbox.ts'
import { pythonCallLimit, pythonLoadLimit } from '#host/processes/limits.ts'
import { requireConsent, type PythonSource } from './consent.ts'
import { pathsInside } from './pythonEnvironment.ts'
import { PythonProcess, type PythonRequest } from './pythonProcess.ts'

export interface PythonOptions extends Omit<RunConfig['python'], 'messages'> {
  /** True: prompts and completions are passed as lists of messages; null: as `form` makes prompts. */
  readonly messages: boolean | null
  /** Form by which rows become prompts; null: prompts are text. */
  readonly form: PromptForm | null
  /** Path of this machine's consents; null: no Python runs. */
  readonly consents: string | null
}

export const pythonOptions = (
  { python, data }: Pick<RunConfig, 'python'> & { readonly data: Pick<RunConfig['data'], 'prompt'> },
  consents: string | null,
): PythonOptions => ({ ...python, form: data.prompt, consents })

/** Returns the code that stands for a Python package; null for a file. */
export function packagedCode(id: string): string | null {
  const environment = /^gymnasium:(.+)$/s.exec(id)?.[1]
  if (environment !== undefined) {
    const name = JSON.stringify(environment)
    return `import gymnasium\n\n\ndef make(**settings):\n    return gymnasium.make(${name}, **settings)\n`
  }
  if (!isPythonPackage(id)) return null
  const tasks = readFileSync(path.join(resourcesDirectory, 'python', 'reasoning_gym_tasks.py'), 'utf8')
  return id === 'reasoning-gym' ? tasks : `${tasks}\n\nEVALUATES = True\n`
}

/** Times that the process may die or fall silent in one call before the rest of the call is given up. */
const maxFaults = 3

const loaded = z.object({
  functions: z.array(z.string()),
  own: z.array(z.string()),
  needsTokens: z.boolean(),
  hasEnvironment: z.boolean(),
})

/** Errors: AppError 'python/not-allowed'; 'sandbox/failed' for an interpreter or code that does not work. */
export async function openPython(source: PythonSource, options: PythonOptions): Promise<PythonCode> {
  const code = new PythonCode(source, options)
  await code.start()
  return code
}

export class PythonCode implements AsyncDisposable {
  readonly settings = {}
  readonly #source: PythonSource
  readonly #options: PythonOptions
  #process: PythonProcess | null = null
  #description: z.output<typeof loaded> = {
    functions: [],
    own: [],
    needsTokens: false,
    hasEnvironment: false,
  }
  /** One call at a time. */
  #queue: Promise<unknown> = Promise.resolve()

  constructor(source: PythonSource, options: PythonOptions) {
    this.#source = source
    this.#options = options
  }

  get kind(): 'reward' | 'environment' {
    const { own, hasEnvironment } = this.#description
    return own.length === 0 && hasEnvironment ? 'environment' : 'reward'
  }

  /** All that can be named: what the file defines or takes over from files that were allowed with it. */
  get functions(): readonly string[] {
    return this.#description.functions
  }

  /** Functions that score if none is named: those that the file itself defines. */
  get unnamed(): readonly string[] {
    return this.#description.own
  }

  get needsTokens(): boolean {
    return this.#description.needsTokens
  }

  async start(): Promise<void> {
    await this.#open()
  }

  /** All completions in one call, as TRL makes it: where it fails, none of them has a score. */
  async score(inputs: readonly ScoreInput[], name: string): Promise<Timed<ScoreAnswer>[]> {
    if (inputs.length === 0) return []
    const startedAt = performance.now()
    const settings = inputs[0]?.settings ?? {}
    const request = {
      call: 'score',
      name,
      settings,
      inputs: inputs.map((input) => this.#scored(input)),
    } as const
    const [answer] = await this.#call(request, null)
    const durationMs = (performance.now() - startedAt) / inputs.length
    return readSamples(answer, inputs.length).map((sample) => ({ ...sample, durationMs }))
  }

  #scored({ prompt, completion, row, step, tokens = null }: ScoreInput) {
    const messages = this.#messagesOf(prompt, row)
    const ids = idsOf(tokens)
    return messages === null
      ? { prompt, completion, row, step, ids }
      : { prompt: messages, completion: [{ role: 'assistant', content: completion }], row, step, ids }
  }

  /** Returns null if prompts are text. */
  #messagesOf(prompt: string, row: ScoreInput['row']) {
    const { messages, form } = this.#options
    if (messages === false) return null
    const content = contentOf(row, form)
    if (content !== null && typeof content !== 'string') return content
    return messages === true ? [{ role: 'user', content: content ?? prompt }] : null
  }

  /**
   * The environment that a class or function of the file makes; null: the only one there is. A state names a living one
   * and holds its seed and actions, so that the episode can be played again in another process. Errors: AppError
   * 'sandbox/failed'.
   */
  async environment(name: string | null, settings: Settings): Promise<PythonEnvironment> {
    const [answer] = await this.#call({ call: 'describe', name, settings }, null)
    const described = z.object({ maxTurns: z.number().nullable() }).safeParse(answer)
    if (!described.success) throw loadError(this.#source, readFailed(answer))
    const play = async (call: 'reset' | 'step', inputs: readonly EpisodeStart[]) => {
      const answers = await this.#call({ call, name, settings }, inputs)
      return answers.map(readTurn)
    }
    return {
      id: name ?? this.#source.file,
      description: 'Environment in Python.',
      maxTurns: described.data.maxTurns ?? defaultTurns,
      reset: (starts) => play('reset', starts),
      step: (actions) => play('step', actions),
    }
  }

  /** Writes the rows that a function yields to a file, as JSON lines; returns their number. Errors: AppError 'sandbox/failed'. */
  async writeRows(name: string, settings: Settings, out: string): Promise<number> {
    const [answer] = await this.#call({ call: 'rows', name, settings, out }, null)
    const written = z.object({ rows: z.number() }).safeParse(answer)
    if (!written.success) throw loadError(this.#source, readFailed(answer))
    return written.data.rows
  }

  /** Returns an answer per input; without inputs, a single one. */
  #call(request: PythonRequest, inputs: readonly unknown[] | null): Promise<readonly unknown[]> {
    const answers = this.#queue.then(() => this.#answersOf(request, inputs))
    this.#queue = answers.catch(() => {})
    return answers
  }

  async #answersOf(request: PythonRequest, inputs: readonly unknown[] | null): Promise<readonly unknown[]> {
    const count = inputs?.length ?? 1
    const answers: unknown[] = []
    for (let faults = 0; answers.length < count && faults < maxFaults;) {
      const python = await this.#open()
      const left = inputs === null ? {} : { inputs: inputs.slice(answers.length) }
      const limit = pythonCallLimit(this.#options.callSeconds)
      const reply = await python.ask({ ...request, ...left }, count - answers.length, limit)
      answers.push(...reply.answers)
      if (reply.fault === null) continue
      faults++
      answers.push({ failure: { ...reply.fault, line: null } })
    }
    while (answers.length < count) answers.push({ failure: { ...givenUp, line: null } })
    return answers
  }

  /** The living process, or a new one. */
  async #open(): Promise<PythonProcess> {
    if (this.#process?.isAlive === true) return this.#process
    const { code, file } = this.#source
    const { interpreter, consents } = this.#options
    const allowed = requireConsent(this.#source, interpreter, consents)
    const folder = path.isAbsolute(file) ? path.dirname(file) : null
    const python = await PythonProcess.start(allowed.interpreter, folder)
    const paths = folder === null ? [] : pathsInside(folder)
    const { modules } = allowed
    const load = { call: 'load', code, file, modules, paths, private: python.privateFolder } as const
    const { answers, fault } = await python.ask(load, 1, pythonLoadLimit)
    const description = loaded.safeParse(answers[0])
    if (fault !== null || !description.success) {
      python[Symbol.dispose]()
      throw loadError(
        this.#source,
        fault === null ? readFailed(answers[0]) : { failure: { ...fault, ...nowhere }, lines: [] },
      )
    }
    this.#description = description.data
    this.#process = python
    return python
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#queue
    this.#process?.[Symbol.dispose]()
    this.#process = null
  }
}

type Settings = Readonly<Record<string, string | number | boolean>>

/** Maximum turns of an episode if neither the environment nor the run sets it. */
const defaultTurns = 8

/** Says with every answer what the code printed. */
export interface PythonEnvironment extends Environment {
  reset(starts: readonly EpisodeStart[]): Promise<readonly EnvironmentAnswer[]>
  step(actions: readonly EpisodeAction[]): Promise<readonly EnvironmentAnswer[]>
}

const idsOf = (tokens: readonly GeneratedToken[] | null): readonly number[] | null =>
  tokens?.map(({ id }) => id) ?? null

/** Rows of an environment need not make prompts. */
const contentOf = (row: ScoreInput['row'], form: PromptForm | null) =>
  attempt(() => (form === null ? null : promptContent(row, 0, form)), null)

const givenUp = {
  kind: 'timeout',
  message: `Not run: Python crashed or did not answer ${maxFaults} times in this call.`,
} as const

const nowhere = { line: null, column: null } as const

/* Reading what the adapter says: the code may have written anything into it. */

const lines = z.array(z.string()).default([])
const failed = z.object({
  failure: z.object({
    kind: z.enum(['exception', 'timeout', 'wrong-type']),
    message: z.string(),
    line: z.number().nullable(),
  }),
  lines,
})
const logged = {
  columns: z.record(z.string(), z.unknown()).default({}),
  metrics: z.record(z.string(), z.number()).default({}),
}
const score = z.union([z.object({ value: z.number().nullable(), ...logged }), failed])
const samples = z.object({ samples: z.array(score), lines })
const turn = z.object({
  state: z.unknown(),
  observation: z.union([z.string(), z.array(z.object({ role: z.string(), content: z.string() }))]).nullable(),
  reward: z.number().nullable(),
  terminated: z.boolean(),
  truncated: z.boolean(),
  ...logged,
  lines,
})

function readFailed(answer: unknown): Failed {
  const { data } = failed.safeParse(answer)
  if (data !== undefined) return { failure: { ...data.failure, column: null }, lines: data.lines }
  return { failure: { kind: 'wrong-type', message: 'The answer cannot be read.', ...nowhere }, lines: [] }
}

/** Reads one answer per sample; the lines that the call printed go to the first. */
function readSamples(answer: unknown, count: number): ScoreAnswer[] {
  const { data } = samples.safeParse(answer)
  if (data?.samples.length !== count) return Array.from({ length: count }, () => readFailed(answer))
  return data.samples.map((sample, i) => {
    const printed = i === 0 ? data.lines : []
    return 'failure' in sample ? { ...readFailed(sample), lines: printed } : { ...sample, lines: printed }
  })
}

function readTurn(answer: unknown): EnvironmentAnswer {
  const { data } = turn.safeParse(answer)
  return data ?? readFailed(answer)
}

function loadError({ file }: PythonSource, { failure }: Failed): AppError {
  const where = failure.line === null ? '' : ` (line ${failure.line})`
  return new AppError(
    'sandbox/failed',
    `${file} did not load${where}: ${failure.message}`,
    undefined,
    failure,
  )
}

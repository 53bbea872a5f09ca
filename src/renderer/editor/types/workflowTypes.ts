/**
 * Type declarations available to the code of a workflow, appended to those of its rows (ambient.ts). Code is written
 * for prompts or for an environment, so neither is declared as possibly null.
 */
export const workflowTypes = `
/** One message of a chat. */
interface Message { readonly role: string; readonly content: string; readonly [field: string]: any }

/** Text with its token ids as the policy reads them. */
interface Prompt { readonly text: string; readonly ids: readonly number[] }

interface Log {
  /** Shown in a column of its own beside the sample. */
  column(name: string, value: unknown): void
  /** Charted as a mean over the step. */
  metric(name: string, value: number): void
}

/** Sampling options; omitted ones default to the run's rollout settings. */
interface Sampling {
  /** Always take the most probable token. */
  greedy?: boolean
  temperature?: number
  /** 0 is off. */
  topK?: number
  topP?: number
  minP?: number
  repetitionPenalty?: number
  minNewTokens?: number
  maxNewTokens?: number
  /** Texts at which the completion ends. */
  stop?: readonly string[]
  stopIds?: readonly number[]
}

/** Either ids or messages. */
type GenerateRequest = Sampling & {
  /** Descriptions of functions that the policy may call: [{ type: 'function', function: { name, description, parameters } }]. */
  tools?: readonly object[]
} & ({ ids: readonly number[]; messages?: never } | { messages: readonly Message[]; ids?: never })

interface ToolCall {
  readonly name: string
  /** JSON text of an object. */
  readonly arguments: string
}

interface Completion {
  /** Text without the stop string; of an answer that calls tools, what it says besides. */
  readonly text: string
  /** Calls of the tools that the request offered; absent: none. */
  readonly toolCalls?: readonly ToolCall[]
  readonly ids: readonly number[]
  /** Log-probability of each of ids, nats. */
  readonly logprobs: readonly number[]
  /** Number of steps the policy had learned from. */
  readonly version: number
  /** context: the prompt left no room, so that nothing was generated. */
  readonly finishReason: 'stop' | 'length' | 'context'
  readonly promptIds: readonly number[]
  /** Ids of the prompt, then those of the completion. */
  readonly allIds: readonly number[]
  /** 1 for each of allIds that the policy chose. */
  readonly actionMask: readonly number[]
}

/** The policy. Requests made before one is awaited are answered together. */
interface Engine {
  generate(request: GenerateRequest & { samples: number }): Promise<readonly Completion[]>
  generate(request: GenerateRequest & { samples?: undefined }): Promise<Completion>
}

/** Rewards of a completion by the run's reward functions. */
interface Judgement {
  /** Weighted sum; null if no function applies. */
  readonly total: number | null
  /** Unweighted rewards by function. */
  readonly parts: Readonly<Record<string, number | null>>
  readonly failures: readonly string[]
}

interface EnvironmentTurn {
  /** State for the next step. */
  readonly state: any
  readonly observation: string | readonly Message[] | null
  readonly reward: number | null
  /** The episode is over: terminated or truncated. */
  readonly over: boolean
  readonly terminated: boolean
  readonly truncated: boolean
  readonly columns: Readonly<Record<string, unknown>>
  readonly metrics: Readonly<Record<string, number>>
  /** Ids that the policy reads next; null if the episode is over. */
  readonly ids: any
}

/** Environment of the run; null without one. */
interface Environment {
  readonly maxTurns: number
  reset(): Promise<EnvironmentTurn>
  /** Takes \`ids\`, the transcript up to the end of the policy's turn. */
  step(turn: { state?: unknown; action: string; ids: readonly number[] }): Promise<EnvironmentTurn>
}

interface Tools {
  /** Calls the run's reward functions; prompt and row default to the episode's. */
  rewards(completions: readonly { completion: string; prompt?: string; row?: Readonly<Record<string, unknown>> }[]): Promise<readonly Judgement[]>
  readonly environment: Environment
  /** Formats messages with the model's chat template. */
  prompt(messages: readonly Message[]): Promise<Prompt>
  /**
   * Returns the end of the policy's turn, the message (text of the user, or messages), and the opening of the next
   * turn.
   */
  reply(ids: readonly number[], message: string | readonly Message[]): Promise<{ readonly ids: readonly number[] }>
  /** Synchronous, like decode. */
  encode(text: string): readonly number[]
  decode(ids: readonly number[]): string
}

/** Trajectory returned by an episode. Indices refer to ids. */
interface Trajectory {
  ids: readonly number[]
  /** 1 for each token that the policy chose, or the ranges of such tokens: [[start, end], …]. */
  actions: readonly (number | boolean)[] | readonly (readonly number[])[]
  /** Number or answer of tools.rewards; null: it takes no part; absent: the reward functions are called. */
  reward?: number | null | { readonly total: number | null; readonly parts?: Readonly<Record<string, number | null>>; readonly failures?: readonly string[] }
  /** Reward of each turn, which is a run of actions. */
  turnRewards?: readonly (number | null)[]
  /** Reward of each of ids. */
  tokenRewards?: readonly (number | null)[]
  /** Reward of the answer it is compared with. */
  baseline?: number | null
  /** Trajectories of a row are compared with those of the same group; absent: with all others without one. */
  group?: string | number
  /** Absent: true if its last turn was truncated. */
  truncated?: boolean
  /** Shown beside the sample. */
  columns?: Readonly<Record<string, unknown>>
  /** Charted as means over the step. */
  metrics?: Readonly<Record<string, number>>
}

type PlainSetting = number | string | boolean
type Widened<T> = T extends number ? number : T extends string ? string : T extends boolean ? boolean : any

interface EpisodeInput<S> {
  /** Row of the data set with all its columns. */
  readonly row: Row
  /** Row's prompt according to the run's data settings; null if an environment writes it. */
  readonly prompt: Prompt
  readonly engine: Engine
  readonly tools: Tools
  /** Settings of the code, with the values set by the run. */
  readonly settings: { readonly [Name in keyof S]: Widened<S[Name]> }
  readonly log: Log
  /** Equal in every run of the episode. */
  readonly seed: number
  /** Uniform in [0, 1); the same input draws the same numbers. */
  readonly random: () => number
  /** True in evaluation, which generates greedily unless a request specifies otherwise. */
  readonly isEvaluation: boolean
}

type Returned = Trajectory | readonly Trajectory[] | null

interface WorkflowDefinition<S> {
  settings?: S
  /**
   * Returns one trajectory, several, or null to reject the episode. It is run again from its beginning after every
   * answer.
   */
  episode(input: EpisodeInput<S>): Returned | Promise<Returned>
}

declare function defineWorkflow<const S extends Readonly<Record<string, PlainSetting>> = {}>(definition: WorkflowDefinition<S>): unknown

/** Prints lines of the episode. */
declare const console: Record<'log' | 'info' | 'warn' | 'error' | 'debug', (...values: unknown[]) => void>

declare module 'turnwise' {
  export const defineWorkflow: typeof globalThis.defineWorkflow
}
`

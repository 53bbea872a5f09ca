/**
 * Type declarations available to the code of a workflow, appended to those of its rows (ambient.ts). Code is written
 * for prompts or for an environment, so neither is declared as possibly null.
 */
export const workflowTypes = `
/** One message of a chat. */
interface Message { readonly role: string; readonly content: string }

/** A text as the policy reads it. */
interface Prompt { readonly text: string; readonly ids: readonly number[] }

interface Log {
  /** Shown in a column of its own beside the sample. */
  column(name: string, value: unknown): void
  /** Charted as a mean over the step. */
  metric(name: string, value: number): void
}

/** What is not said is as the run's rollout settings say. */
interface Sampling {
  /** Always the likeliest token. */
  greedy?: boolean
  temperature?: number
  /** 0 is off. */
  topK?: number
  topP?: number
  minP?: number
  repetitionPenalty?: number
  minNewTokens?: number
  maxNewTokens?: number
  /** The completion ends at any of these texts. */
  stop?: readonly string[]
  stopIds?: readonly number[]
}

/** Either ids or messages. */
type GenerateRequest = Sampling & ({ ids: readonly number[]; messages?: never } | { messages: readonly Message[]; ids?: never })

interface Completion {
  /** Without the text that ended it. */
  readonly text: string
  readonly ids: readonly number[]
  /** Of each of ids, nats. */
  readonly logprobs: readonly number[]
  /** Steps that the policy had learned from. */
  readonly version: number
  /** context: the prompt left no room, so that nothing was generated. */
  readonly finishReason: 'stop' | 'length' | 'context'
  readonly promptIds: readonly number[]
  /** Those of the prompt, then those of the completion. */
  readonly allIds: readonly number[]
  /** Of each of allIds, 1 where the policy chose it. */
  readonly actionMask: readonly number[]
}

/** The policy. Requests that are made before one is awaited are answered together. */
interface Engine {
  generate(request: GenerateRequest & { samples: number }): Promise<readonly Completion[]>
  generate(request: GenerateRequest & { samples?: undefined }): Promise<Completion>
}

/** What the run's reward functions say of a completion. */
interface Judgement {
  /** Weighted sum; null where no function applies. */
  readonly total: number | null
  /** By function. */
  readonly parts: Readonly<Record<string, number | null>>
  readonly failures: readonly string[]
}

interface EnvironmentTurn {
  /** To be handed to the next step. */
  readonly state: any
  readonly observation: string | readonly Message[] | null
  readonly reward: number | null
  /** The episode is over: terminated or truncated. */
  readonly over: boolean
  readonly terminated: boolean
  readonly truncated: boolean
  readonly columns: Readonly<Record<string, unknown>>
  readonly metrics: Readonly<Record<string, number>>
  /** What the policy reads next; null where the episode is over. */
  readonly ids: any
}

/** The environment of the run; null where it has none. */
interface Environment {
  readonly maxTurns: number
  reset(): Promise<EnvironmentTurn>
  /** \`ids\`: the transcript up to the end of the policy's turn. */
  step(turn: { state?: unknown; action: string; ids: readonly number[] }): Promise<EnvironmentTurn>
}

interface Tools {
  /** Asks the run's reward functions; prompt and row are the episode's where they are not given. */
  rewards(completions: readonly { completion: string; prompt?: string; row?: Readonly<Record<string, unknown>> }[]): Promise<readonly Judgement[]>
  readonly environment: Environment
  /** Messages in the model's chat template. */
  prompt(messages: readonly Message[]): Promise<Prompt>
  /** The end of the policy's turn, the message (text of the user, or messages), and the opening of the next turn. */
  reply(ids: readonly number[], message: string | readonly Message[]): Promise<{ readonly ids: readonly number[] }>
  /** Needs no await, as decode. */
  encode(text: string): readonly number[]
  decode(ids: readonly number[]): string
}

/** A trajectory as an episode returns it. Indices are those of ids. */
interface Trajectory {
  ids: readonly number[]
  /** 1 for each token that the policy chose, or where runs of them begin and end: [[start, end], …]. */
  actions: readonly (number | boolean)[] | readonly (readonly number[])[]
  /** A number or an answer of tools.rewards; null: it takes no part; absent: the reward functions are asked. */
  reward?: number | null | { readonly total: number | null; readonly parts?: Readonly<Record<string, number | null>>; readonly failures?: readonly string[] }
  /** Of each turn, which is a run of actions. */
  turnRewards?: readonly (number | null)[]
  /** Of each of ids. */
  tokenRewards?: readonly (number | null)[]
  /** Reward of the answer it is compared with. */
  baseline?: number | null
  /** Trajectories of a row are compared with those of the same name; absent: with all that have none. */
  group?: string | number
  /** Absent: whether its last turn was truncated. */
  truncated?: boolean
  /** Shown beside the sample. */
  columns?: Readonly<Record<string, unknown>>
  /** Charted as means over the step. */
  metrics?: Readonly<Record<string, number>>
}

type PlainSetting = number | string | boolean
type Widened<T> = T extends number ? number : T extends string ? string : T extends boolean ? boolean : any

interface EpisodeInput<S> {
  /** The row of the data set, every column of it. */
  readonly row: Row
  /** The row's prompt as the run's data settings make it; null where an environment writes it. */
  readonly prompt: Prompt
  readonly engine: Engine
  readonly tools: Tools
  /** Those of the code, with what the run sets. */
  readonly settings: { readonly [Name in keyof S]: Widened<S[Name]> }
  readonly log: Log
  /** The same in every run of the episode. */
  readonly seed: number
  /** From 0 to below 1; the same input draws the same numbers. */
  readonly random: () => number
  /** Evaluation generates greedily unless a request says otherwise. */
  readonly isEvaluation: boolean
}

type Returned = Trajectory | readonly Trajectory[] | null

interface WorkflowDefinition<S> {
  settings?: S
  /** One trajectory, several, or null to reject the episode. It is run again from its beginning after every answer. */
  episode(input: EpisodeInput<S>): Returned | Promise<Returned>
}

declare function defineWorkflow<const S extends Readonly<Record<string, PlainSetting>> = {}>(definition: WorkflowDefinition<S>): unknown

/** Lines of the episode. */
declare const console: Record<'log' | 'info' | 'warn' | 'error' | 'debug', (...values: unknown[]) => void>

declare module 'turnwise' {
  export const defineWorkflow: typeof globalThis.defineWorkflow
}
`

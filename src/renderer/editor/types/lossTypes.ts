const functions = [
  ...['defineLoss', 'exp', 'log', 'expm1', 'log1p', 'sqrt', 'abs', 'square', 'sigmoid', 'logSigmoid', 'tanh'],
  ...['min', 'max', 'clip', 'where', 'stopGradient', 'sum', 'mean', 'last', 'chosen', 'rejected'],
]

/** Declarations for code that imports the globals explicitly. */
const importable = `declare module 'turnwise' {
${functions.map((name) => `  export const ${name}: typeof globalThis.${name}`).join('\n')}
}`

/**
 * Type declarations available to the code of a loss. TypeScript does not overload operators, so tensors are declared
 * as numbers: `ratio * advantages` and `ratio > 1.2` then check as people write them. Whatever tensors do not support
 * (Math.round, a condition of `if`) is refused during recording, with its place in the code.
 */
export const lossTypes = `
/** A value per token, turn, sequence, … of the minibatch. Operators work on it as on a number, entry by entry. */
type Tensor = number
type Condition = boolean | Tensor

/**
 * Granularity of a value: one for the whole minibatch, or one per group of completions, completion, turn, position or
 * token.
 */
type Level = 'batch' | 'group' | 'sequence' | 'turn' | 'position' | 'token'

interface LossInputs<Settings> {
  /** Log-probability of each token under the learning policy, nats. */
  readonly logp: Tensor
  /** Log-probability under the policy that generated the completion, before the update. */
  readonly oldLogp: Tensor
  /** Log-probability under the reference policy, which the run computes because the loss uses it. */
  readonly refLogp: Tensor
  /** Log-probability recorded by the sampler; it differs from oldLogp if the sampler computes in another precision. */
  readonly samplerLogp: Tensor
  /** Entropy of the learning policy at each token, nats. */
  readonly entropy: Tensor
  readonly oldEntropy: Tensor
  /** Value of the critic at each token; the run trains a critic because the loss uses it. */
  readonly values: Tensor
  readonly oldValues: Tensor
  /** Target of the critic, from the advantages. */
  readonly returns: Tensor
  /** Advantage of each token. */
  readonly advantages: Tensor
  /** Weight that corrects for the gap between sampler and learner; 1 without. */
  readonly correction: Tensor
  /** 1 where the policy chose the token; 0 for prompts, responses of an environment and padding. */
  readonly mask: Tensor
  /** Number of the token's turn, from 0. */
  readonly turns: Tensor
  /** Number of the prompt, equal for its completions. One value per sequence, like all that follow. */
  readonly groups: Tensor
  readonly rewards: Tensor
  /** Reward of the greedy answer to the same prompt. */
  readonly baseline: Tensor
  /** 1 where a limit ended the completion. */
  readonly truncated: Tensor
  readonly tokenLimit: Tensor
  readonly settings: Settings
}

/** One trajectory as input of advantages; lists have an entry for each token that the policy chose. */
interface AdvantageRow {
  /** Trajectories with the same number answer the same prompt. */
  readonly group: number
  /** Reward of the whole trajectory. */
  readonly reward: number
  /** Reward of each turn. */
  readonly rewards: readonly number[]
  /** Rewards of single tokens, included in those of turns; null if there are none. */
  readonly tokenRewards: readonly number[] | null
  /** Number of tokens that the policy chose. */
  readonly tokens: number
  /** Turn of each token. */
  readonly turns: readonly number[]
  readonly truncated: boolean
  readonly tokenLimit: number | null
  /** Available only if \`needs\` names it, like those that follow. */
  readonly baseline: number
  readonly oldLogp: readonly number[]
  readonly refLogp: readonly number[]
  readonly oldEntropy: readonly number[]
  readonly oldValues: readonly number[]
  /** Value of the state in which a truncated episode ended; null if nothing more could be earned. */
  readonly lastStateValue: number | null
}

/** One advantage for all tokens or one for each, with the critic's target; null leaves the trajectory out. */
type Advantage = number | readonly number[] | null | { advantages: number | readonly number[]; returns?: number | readonly number[] | null }

type Weight = 'tokens' | 'sequences' | Tensor
type Loss = Tensor | {
  loss: Tensor
  /** Charted as means over the step, by name. */
  metrics?: Readonly<Record<string, Tensor>>
} | {
  /** Terms whose sum is the loss, each a weighted mean. */
  terms: readonly { loss: Tensor; weight?: Weight }[]
  metrics?: Readonly<Record<string, Tensor>>
}

type PlainSetting = number | string | boolean
interface Setting {
  readonly default: PlainSetting | null
  readonly minimum?: number
  readonly maximum?: number
  readonly integer?: boolean
  /** Allowed values of a text. */
  readonly options?: readonly string[]
  readonly description?: string
}
type Widened<T> = T extends number ? number : T extends string ? string : T extends boolean ? boolean : any
type SettingsOf<S> = { readonly [Name in keyof S]: Widened<S[Name] extends { readonly default: infer Value } ? Value : S[Name]> }

interface LossDefinition<S extends Readonly<Record<string, PlainSetting | Setting>>> {
  title?: string
  description?: string
  /** Paper. */
  source?: string
  /**
   * Kind of experience: completions of the policy (default), given answers, or pairs of a chosen and a rejected answer.
   */
  experience?: 'rollout' | 'demonstrations' | 'preferences'
  /** Default number of completions per prompt. */
  groupSize?: number
  settings?: S
  /** Inputs of \`advantages\` besides rewards. */
  needs?: readonly ('oldLogp' | 'refLogp' | 'oldEntropy' | 'oldValues' | 'baseline')[]
  /** One for each row; or the id of a built-in algorithm, whose advantages are used. Default: those of GRPO. */
  advantages?: ((input: { readonly rows: readonly AdvantageRow[]; readonly settings: SettingsOf<S> }) => readonly Advantage[])
    | string
    | { like: string; settings?: Readonly<Record<string, unknown>> }
  /**
   * Weight of a part of a minibatch: 'tokens' if the loss is a mean over tokens, 'sequences' if it is one over
   * completions.
   */
  lossWeight?: 'tokens' | 'sequences' | ((inputs: LossInputs<SettingsOf<S>>) => Tensor)
  /** Number that the optimizer minimizes. Called once, to record its operations. */
  loss(inputs: LossInputs<SettingsOf<S>>): Loss
}

/** Defines a loss: the default export of its file. */
declare function defineLoss<const S extends Readonly<Record<string, PlainSetting | Setting>> = {}>(definition: LossDefinition<S>): unknown

declare function exp(x: Tensor): Tensor
declare function log(x: Tensor): Tensor
/** exp(x) − 1, exact near 0. */
declare function expm1(x: Tensor): Tensor
/** log(1 + x), exact near 0. */
declare function log1p(x: Tensor): Tensor
declare function sqrt(x: Tensor): Tensor
declare function abs(x: Tensor): Tensor
declare function square(x: Tensor): Tensor
declare function sigmoid(x: Tensor): Tensor
/** log σ(x), exact where σ(x) is near 0. */
declare function logSigmoid(x: Tensor): Tensor
declare function tanh(x: Tensor): Tensor
declare function min(...x: Tensor[]): Tensor
declare function max(...x: Tensor[]): Tensor
/** x between low and high; the gradient is 0 outside. */
declare function clip(x: Tensor, low: Tensor, high: Tensor): Tensor
/** a where the condition holds, b elsewhere, entry by entry. */
declare function where(condition: Condition, a: Tensor, b: Tensor): Tensor
/** Returns the value as a constant, without a gradient. */
declare function stopGradient(x: Tensor): Tensor
/** Reduces over each batch, sequence, turn, …; counts only entries whose mask is not 0. */
declare function sum(x: Condition, mask?: Condition | null, over?: Level): Tensor
declare function sum(x: Condition, over: Level): Tensor
declare function mean(x: Condition, mask?: Condition | null, over?: Level): Tensor
declare function mean(x: Condition, over: Level): Tensor
/** Returns the last entry. */
declare function last(x: Condition, mask?: Condition | null, over?: Level): Tensor
declare function last(x: Condition, over: Level): Tensor
/** Returns the chosen answer's value of each pair; takes a value per sequence. */
declare function chosen(x: Tensor): Tensor
declare function rejected(x: Tensor): Tensor

/** Prints lines that are shown if the code fails. */
declare const console: Record<'log' | 'info' | 'warn' | 'error' | 'debug', (...values: unknown[]) => void>

${importable}
`

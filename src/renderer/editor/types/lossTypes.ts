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

/** What there is one value of: all of the minibatch, the completions of a prompt, one of them, a turn, a place, a token. */
type Level = 'batch' | 'group' | 'sequence' | 'turn' | 'position' | 'token'

interface LossInputs<Settings> {
  /** Log-probability of each token under the policy that learns, nats. */
  readonly logp: Tensor
  /** Under the policy that generated the completion, as it was before the update. */
  readonly oldLogp: Tensor
  /** Under the reference policy; the run scores it because the loss looks at it. */
  readonly refLogp: Tensor
  /** As the sampler recorded it; it differs from oldLogp where the sampler computes in another precision. */
  readonly samplerLogp: Tensor
  /** Entropy of the policy that learns at each token, nats. */
  readonly entropy: Tensor
  readonly oldEntropy: Tensor
  /** The critic's value at each token; the run trains a critic because the loss looks at it. */
  readonly values: Tensor
  readonly oldValues: Tensor
  /** What the critic is to learn, from the advantages. */
  readonly returns: Tensor
  /** How much better than expected each token was. */
  readonly advantages: Tensor
  /** Weight against the gap between sampler and learner; 1 without. */
  readonly correction: Tensor
  /** 1 where the policy chose the token; prompts, what the world says and padding are 0. */
  readonly mask: Tensor
  /** Number of the token's turn, from 0. */
  readonly turns: Tensor
  /** Number of the prompt, the same for its completions. One value per sequence, as all that follow. */
  readonly groups: Tensor
  readonly rewards: Tensor
  /** Reward of the greedy answer to the same prompt. */
  readonly baseline: Tensor
  /** 1 where a limit ended the completion. */
  readonly truncated: Tensor
  readonly tokenLimit: Tensor
  readonly settings: Settings
}

/** One trajectory, as advantages see it; lists have an entry for each token that the policy chose. */
interface AdvantageRow {
  /** Trajectories with the same number answer the same prompt. */
  readonly group: number
  /** Of the whole trajectory. */
  readonly reward: number
  /** Of each turn. */
  readonly rewards: readonly number[]
  /** What single tokens earned, as part of that; null where none did. */
  readonly tokenRewards: readonly number[] | null
  /** How many tokens the policy chose. */
  readonly tokens: number
  /** Turn of each token. */
  readonly turns: readonly number[]
  readonly truncated: boolean
  readonly tokenLimit: number | null
  /** Only where \`needs\` names it, as those that follow. */
  readonly baseline: number
  readonly oldLogp: readonly number[]
  readonly refLogp: readonly number[]
  readonly oldEntropy: readonly number[]
  readonly oldValues: readonly number[]
  /** Of the state in which a truncated episode was left; null where nothing more was to be earned. */
  readonly lastStateValue: number | null
}

/** Of all tokens or of each, with what the critic is to learn; null leaves the trajectory out. */
type Advantage = number | readonly number[] | null | { advantages: number | readonly number[]; returns?: number | readonly number[] | null }

type Weight = 'tokens' | 'sequences' | Tensor
type Loss = Tensor | {
  loss: Tensor
  /** Charted as means over the step, by name. */
  metrics?: Readonly<Record<string, Tensor>>
} | {
  /** Each a mean with a weight of its own; the loss is their sum. */
  terms: readonly { loss: Tensor; weight?: Weight }[]
  metrics?: Readonly<Record<string, Tensor>>
}

type PlainSetting = number | string | boolean
interface Setting {
  readonly default: PlainSetting | null
  readonly minimum?: number
  readonly maximum?: number
  readonly integer?: boolean
  /** What a text may be. */
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
  /** What it learns from: completions of the policy (usual), given answers, or pairs of a chosen and a rejected answer. */
  experience?: 'rollout' | 'demonstrations' | 'preferences'
  /** Completions per prompt where a run does not say. */
  groupSize?: number
  settings?: S
  /** What \`advantages\` looks at besides rewards. */
  needs?: readonly ('oldLogp' | 'refLogp' | 'oldEntropy' | 'oldValues' | 'baseline')[]
  /** One for each row; or the id of a built-in algorithm, whose advantages it takes. Without it: those of GRPO. */
  advantages?: ((input: { readonly rows: readonly AdvantageRow[]; readonly settings: SettingsOf<S> }) => readonly Advantage[])
    | string
    | { like: string; settings?: Readonly<Record<string, unknown>> }
  /** What a part of a minibatch counts with: 'tokens' where the loss is a mean over tokens, 'sequences' where it is one over completions. */
  lossWeight?: 'tokens' | 'sequences' | ((inputs: LossInputs<SettingsOf<S>>) => Tensor)
  /** What the optimizer makes smaller: one number. Called once, to record what it does. */
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
/** The value, as if it were a constant. */
declare function stopGradient(x: Tensor): Tensor
/** Over each batch, sequence, turn, …; only entries count whose mask is not 0. */
declare function sum(x: Condition, mask?: Condition | null, over?: Level): Tensor
declare function sum(x: Condition, over: Level): Tensor
declare function mean(x: Condition, mask?: Condition | null, over?: Level): Tensor
declare function mean(x: Condition, over: Level): Tensor
/** The last entry. */
declare function last(x: Condition, mask?: Condition | null, over?: Level): Tensor
declare function last(x: Condition, over: Level): Tensor
/** Of each pair the chosen answer's; takes a value per sequence. */
declare function chosen(x: Tensor): Tensor
declare function rejected(x: Tensor): Tensor

/** What it writes is shown where the code fails. */
declare const console: Record<'log' | 'info' | 'warn' | 'error' | 'debug', (...values: unknown[]) => void>

${importable}
`

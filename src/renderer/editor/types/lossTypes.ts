import {
  type AdvantageField,
  advantageFields,
  advantageNeeds,
  type Input,
  levels,
  lossFunctions,
  lossInputs,
  type Operation,
} from '#shared/lossLanguage.ts'

const commented = (help: string | undefined, text: string, indent = ''): string =>
  `${help === undefined ? '' : `${indent}/** ${help} */\n`}${indent}${text}`

const inputs = Object.entries<Input>(lossInputs)
  .map(([name, { help }]) => commented(help, `readonly ${name}: Tensor`, '  '))
  .join('\n')

const fields = Object.entries<AdvantageField>(advantageFields)
  .map(([name, { type, help }]) => commented(help, `readonly ${name}: ${type}`, '  '))
  .join('\n')

/** Parameters of a function by its form; several where it can be called in several ways. */
const parameters: Readonly<Record<Operation['form'], readonly string[]>> = {
  infix: [],
  prefix: [],
  function: ['x: Tensor'],
  product: ['x: Tensor'],
  held: ['x: Tensor'],
  extreme: ['...x: Tensor[]'],
  range: ['x: Tensor, low: Tensor, high: Tensor'],
  choice: ['condition: Condition, a: Tensor, b: Tensor'],
  reduction: ['x: Condition, mask?: Condition | null, over?: Level', 'x: Condition, over: Level'],
  half: ['x: Tensor'],
}

const functions = lossFunctions
  .map(([, { form, as, help }]) =>
    commented(help, parameters[form].map((taken) => `declare function ${as}(${taken}): Tensor`).join('\n')),
  )
  .join('\n')

const union = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(' | ')

/** Declarations for code that imports the globals explicitly. */
const importable = `declare module 'turnwise' {
${['defineLoss', ...lossFunctions.map(([, { as }]) => as)].map((name) => `  export const ${name}: typeof globalThis.${name}`).join('\n')}
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
type Level = ${union(levels.filter((level) => level !== 'pair' && level !== 'alternative'))}

interface LossInputs<Settings> {
${inputs}
  readonly settings: Settings
}

/** One trajectory as input of advantages; lists have an entry for each token that the policy chose. */
interface AdvantageRow {
${fields}
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
  /** Tokens that topLogp and topRefLogp have at each position; 32 if absent. */
  topK?: number
  settings?: S
  /** Inputs of \`advantages\` besides rewards. */
  needs?: readonly (${union(advantageNeeds)})[]
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

${functions}

/** Prints lines that are shown if the code fails. */
declare const console: Record<'log' | 'info' | 'warn' | 'error' | 'debug', (...values: unknown[]) => void>

${importable}
`

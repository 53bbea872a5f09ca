/**
 * The language of user-written losses: inputs, operations, and the rows that advantages are computed from. Everything that
 * knows them reads these tables: the sandbox that records a loss, the check of what it recorded, evaluation and derivative
 * (rl), the types of the editor and the package, and the reference. This file imports nothing, since the confined process of
 * the sandbox may read no other file of this folder.
 */

export const levels = [
  'batch',
  'group',
  'pair',
  'sequence',
  'turn',
  'position',
  'token',
  'alternative',
] as const
/** Granularity of a value. */
export type Level = (typeof levels)[number]

/** Most operations of a loss. */
export const mostOperations = 5_000

// ---- inputs ----

export interface Input {
  readonly per: Level
  /** A sentence for the editor. */
  readonly help?: string
}

/** Inputs of a loss, in the order in which the editor lists them. */
export const lossInputs = {
  logp: {
    per: 'token',
    help: 'Log-probability of each token under the learning policy, nats.',
  },
  oldLogp: {
    per: 'token',
    help: 'Log-probability under the policy that generated the completion, before the update.',
  },
  refLogp: {
    per: 'token',
    help: 'Log-probability under the reference policy, which the run computes because the loss uses it.',
  },
  samplerLogp: {
    per: 'token',
    help: 'Log-probability recorded by the sampler; it differs from oldLogp if the sampler computes in another precision.',
  },
  entropy: { per: 'token', help: 'Entropy of the learning policy at each token, nats.' },
  oldEntropy: { per: 'token' },
  values: {
    per: 'token',
    help: 'Value of the critic at each token; the run trains a critic because the loss uses it.',
  },
  oldValues: { per: 'token' },
  returns: { per: 'token', help: 'Target of the critic, from the advantages.' },
  advantages: { per: 'token', help: 'Advantage of each token.' },
  correction: {
    per: 'token',
    help: 'Weight that corrects for the gap between sampler and learner; 1 without.',
  },
  mask: {
    per: 'token',
    help: '1 where the policy chose the token; 0 for prompts, responses of an environment and padding.',
  },
  turns: { per: 'token', help: "Number of the token's turn, from 0." },
  topLogp: {
    per: 'alternative',
    help: 'Log-probabilities under the learning policy of the top-k tokens of the reference at each position; sum(x, "token") adds them up. The definition sets topK.',
  },
  topRefLogp: { per: 'alternative', help: 'The same under the reference policy, such as a teacher.' },
  groups: {
    per: 'sequence',
    help: 'Number of the prompt, equal for its completions. One value per sequence, like all that follow.',
  },
  rewards: { per: 'sequence' },
  baseline: { per: 'sequence', help: 'Reward of the greedy answer to the same prompt.' },
  truncated: { per: 'sequence', help: '1 where a limit ended the completion.' },
  tokenLimit: { per: 'sequence' },
} as const satisfies Readonly<Record<string, Input>>
export type InputName = keyof typeof lossInputs

// ---- operations ----

type Arithmetic = (x: number, y: number, z: number) => number
/** ∂value/∂operand of one entry; null: nothing is passed on, not even an infinite gradient. For one operand, y is the value. */
type Slope = number | ((x: number, y: number, z: number) => number | null)

interface Facts {
  /** A sentence for the editor. */
  readonly help?: string
  /** Number of leading operands of which any that is the number 0 makes the result 0. */
  readonly keepsZero?: number
  /** The value at which the slope is infinite. */
  readonly steepAt?: number
  /** Returns the code to write instead where the result is not finite, from the texts of the operation and its operands. */
  readonly remedy?: (whole: string, a: string, b: string) => string
}

/** An operation on each entry by itself. */
export interface Entrywise extends Facts {
  /** Form in code: an operator, a function of one tensor, or a function with its own rule for plain numbers. */
  readonly form: 'infix' | 'prefix' | 'function' | 'product' | 'held' | 'extreme' | 'range' | 'choice'
  /** The operator or function that code writes. */
  readonly as: string
  readonly of: 1 | 2 | 3
  readonly value: Arithmetic
  /** One for each operand that passes a gradient on. */
  readonly slopes: readonly (Slope | null)[]
}

/** An operation on entries that belong together; rl/losses/evaluate.ts has its arithmetic. */
interface Gathering extends Facts {
  readonly form: 'reduction' | 'half'
  readonly as: string
  readonly keepsZero: 1
}

const infix = (as: string, value: Arithmetic, slopes: readonly Slope[] = []) =>
  ({ form: 'infix', as, of: 2, value, slopes }) as const
const prefix = (as: string, value: Arithmetic, slopes: readonly Slope[] = []) =>
  ({ form: 'prefix', as, of: 1, value, slopes }) as const
const ofOne = <const Name extends string>(as: Name, value: Arithmetic, slope: Slope, facts: Facts = {}) =>
  ({ form: 'function', as, of: 1, value, slopes: [slope], ...facts }) as const
const reduction = (as: string, help?: string) =>
  ({ form: 'reduction', as, keepsZero: 1, ...(help === undefined ? {} : { help }) }) as const

const σ = (x: number): number => 1 / (1 + Math.exp(-x))
const overflows = (whole: string, a: string) => `${whole} overflows: write clip(${a}, -30, 30) for ${a}`

/** Operations by their name in programs. Functions are in the order in which the editor and the package list them. */
export const lossOperations = {
  add: infix('+', (x, y) => x + y, [1, 1]),
  subtract: infix('-', (x, y) => x - y, [1, -1]),
  multiply: { ...infix('*', (x, y) => x * y, [(_, y) => y, (x) => x]), keepsZero: 2 },
  divide: {
    ...infix('/', (x, y) => x / y, [(_, y) => 1 / y, (x, y) => -x / (y * y)]),
    remedy: (whole, a, b) => `${whole} divides by 0: write (${a}) / max(${b}, 1e-8)`,
  },
  // No gradient with respect to the exponent where the base is not above 0.
  power: {
    ...infix('**', (x, y) => x ** y, [
      (x, y) => (y === 0 ? 0 : y * x ** (y - 1)),
      (x, y) => (x > 0 ? x ** y * Math.log(x) : 0),
    ]),
    remedy: (whole, a, b) => `${whole} is not finite at 0: write max(${a}, 1e-8) ** (${b})`,
  },
  less: infix('<', (x, y) => Number(x < y)),
  'less-equal': infix('<=', (x, y) => Number(x <= y)),
  greater: infix('>', (x, y) => Number(x > y)),
  'greater-equal': infix('>=', (x, y) => Number(x >= y)),
  equal: infix('===', (x, y) => Number(x === y)),
  'not-equal': infix('!==', (x, y) => Number(x !== y)),
  and: infix('&&', (x, y) => Number(x !== 0 && y !== 0)),
  or: infix('||', (x, y) => Number(x !== 0 || y !== 0)),
  not: prefix('!', (x) => Number(x === 0)),
  negative: { ...prefix('-', (x) => -x, [-1]), keepsZero: 1 },

  exp: ofOne('exp', Math.exp, (_, y) => y, { remedy: overflows }),
  log: ofOne('log', Math.log, (x) => 1 / x, {
    remedy: (whole, a) => `${whole} is the logarithm of 0: write log(max(${a}, 1e-8))`,
  }),
  expm1: ofOne('expm1', Math.expm1, (_, y) => y + 1, {
    help: 'exp(x) − 1, exact near 0.',
    remedy: overflows,
  }),
  log1p: ofOne('log1p', Math.log1p, (x) => 1 / (1 + x), {
    help: 'log(1 + x), exact near 0.',
    remedy: (whole, a) => `${whole} is the logarithm of 0: write log1p(max(${a}, -1 + 1e-8))`,
  }),
  sqrt: ofOne('sqrt', Math.sqrt, (_, y) => 0.5 / y, {
    steepAt: 0,
    remedy: (whole, a) => `${whole} has no finite slope at 0: write sqrt(max(${a}, 1e-12))`,
  }),
  abs: ofOne('abs', Math.abs, Math.sign),
  // Code of a loss is recorded as a product.
  square: { form: 'product', as: 'square', of: 1, value: (x) => x * x, slopes: [(x) => 2 * x] },
  sigmoid: ofOne('sigmoid', σ, (x, y) => y * σ(-x)),
  logSigmoid: ofOne(
    'logSigmoid',
    (x) => Math.min(x, 0) - Math.log1p(Math.exp(-Math.abs(x))),
    (x) => σ(-x),
    {
      help: 'log σ(x), exact where σ(x) is near 0.',
    },
  ),
  tanh: ofOne('tanh', Math.tanh, (_, y) => 1 - y * y),
  // The gradient goes to the first operand where both are equal.
  minimum: {
    form: 'extreme',
    as: 'min',
    of: 2,
    value: (x, y) => Math.min(x, y),
    slopes: [(x, y) => (x <= y ? 1 : 0), (x, y) => (x > y ? 1 : 0)],
  },
  maximum: {
    form: 'extreme',
    as: 'max',
    of: 2,
    value: (x, y) => Math.max(x, y),
    slopes: [(x, y) => (x >= y ? 1 : 0), (x, y) => (x < y ? 1 : 0)],
  },
  clip: {
    form: 'range',
    as: 'clip',
    of: 3,
    help: 'x between low and high; the gradient is 0 outside.',
    value: (x, low, high) => Math.min(Math.max(x, low), high),
    slopes: [
      (x, low, high) => (x >= low && Math.max(x, low) <= high ? 1 : 0),
      (x, low, high) => (x < low && low <= high ? 1 : 0),
      (x, low, high) => (Math.max(x, low) > high ? 1 : 0),
    ],
  },
  where: {
    form: 'choice',
    as: 'where',
    of: 3,
    help: 'a where the condition holds, b elsewhere, entry by entry.',
    value: (condition, a, b) => (condition === 0 ? b : a),
    slopes: [null, (condition) => (condition === 0 ? null : 1), (condition) => (condition === 0 ? 1 : null)],
  },
  'stop-gradient': {
    form: 'held',
    as: 'stopGradient',
    of: 1,
    help: 'The value, as if it were a constant.',
    value: (x) => x,
    slopes: [],
    keepsZero: 1,
  },
  sum: reduction('sum', 'Over each batch, sequence, turn, …; only entries count whose mask is not 0.'),
  mean: reduction('mean'),
  last: reduction('last', 'The last entry.'),
  chosen: {
    form: 'half',
    as: 'chosen',
    keepsZero: 1,
    help: "Of each pair the chosen answer's; takes a value per sequence.",
  },
  rejected: { form: 'half', as: 'rejected', keepsZero: 1 },
} as const satisfies Readonly<Record<string, Entrywise | Gathering>>

type Table = typeof lossOperations
type NameOf<Kind> = { [Name in keyof Table]: Table[Name] extends Kind ? Name : never }[keyof Table]

export type EntrywiseName = NameOf<Entrywise>
export type Reduction = NameOf<{ readonly form: 'reduction' }>

export type Operation = Entrywise | Gathering
export const operationEntries = Object.entries(lossOperations) as readonly (readonly [
  keyof Table,
  Operation,
])[]

/** Names of all operations of these forms. */
export const operationsOf = <Form extends Operation['form']>(...forms: readonly Form[]) =>
  operationEntries.flatMap(([name, { form }]) =>
    (forms as readonly string[]).includes(form) ? [name as NameOf<{ readonly form: Form }>] : [],
  )

/** Functions that code may call, in the order in which they are listed. */
export const lossFunctions = operationEntries.filter(([, { form }]) => form !== 'infix' && form !== 'prefix')

// ---- advantages ----

interface Kinds {
  readonly number: number
  readonly boolean: boolean
  readonly 'number | null': number | null
  readonly 'readonly number[]': readonly number[]
  readonly 'readonly number[] | null': readonly number[] | null
}

export interface AdvantageField {
  readonly type: keyof Kinds
  /** Set for fields that are there only if `needs` names them. */
  readonly isAsked?: true
  readonly help?: string
}

/** One trajectory as the user's `advantages` function sees it; lists have an entry for each token that the policy chose. */
export const advantageFields = {
  group: { type: 'number', help: 'Trajectories with the same number answer the same prompt.' },
  reward: { type: 'number', help: 'Reward of the whole trajectory.' },
  rewards: { type: 'readonly number[]', help: 'Reward of each turn.' },
  tokenRewards: {
    type: 'readonly number[] | null',
    help: 'Rewards of single tokens, included in those of turns; null if there are none.',
  },
  tokens: { type: 'number', help: 'Number of tokens that the policy chose.' },
  turns: { type: 'readonly number[]', help: 'Turn of each token.' },
  truncated: { type: 'boolean' },
  tokenLimit: { type: 'number | null' },
  baseline: {
    type: 'number',
    isAsked: true,
    help: 'Available only if `needs` names it, like those that follow.',
  },
  oldLogp: { type: 'readonly number[]', isAsked: true },
  refLogp: { type: 'readonly number[]', isAsked: true },
  oldEntropy: { type: 'readonly number[]', isAsked: true },
  oldValues: { type: 'readonly number[]', isAsked: true },
  lastStateValue: {
    type: 'number | null',
    help: 'Value of the state in which a truncated episode ended; null if nothing more could be earned.',
  },
} as const satisfies Readonly<Record<string, AdvantageField>>
type Fields = typeof advantageFields

/** null where it would have to be asked for and is not. */
export type AdvantageRow = {
  readonly [Name in keyof Fields]:
    Kinds[Fields[Name]['type']] | (Fields[Name] extends { readonly isAsked: true } ? null : never)
}

/** Inputs that `needs` may name. */
export type AdvantageNeed = {
  [Name in keyof Fields]: Fields[Name] extends { readonly isAsked: true } ? Name : never
}[keyof Fields]

export const advantageNeeds = Object.entries<AdvantageField>(advantageFields).flatMap(
  ([name, { isAsked }]) => (isAsked === true ? [name as AdvantageNeed] : []),
)

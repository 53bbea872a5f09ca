/**
 * Losses made up at random, each as code for the sandbox and as code for PyTorch. What there is one value of is tracked
 * here by itself, so that broadcasting is written out in the second (torchLosses.py: `at`).
 */
import { randomStream, SequentialRandom } from '#shared/random.ts'
import type { LossRow } from '#rl/algorithms/types.ts'

export interface RandomLoss {
  /** An expression of the inputs, one number. */
  readonly js: string
  readonly python: string
}

type Level = 'batch' | 'group' | 'pair' | 'sequence' | 'turn' | 'position' | 'token'

interface Expression extends RandomLoss {
  readonly level: Level
  /** Not a literal and not a setting. */
  readonly isTensor: boolean
}

export const settings = { none: 0, one: 1, small: 0.2, low: -0.7, high: 1.6 } as const

const tokenInputs = [
  ...['logp', 'logp', 'logp', 'entropy', 'values', 'oldLogp', 'refLogp', 'samplerLogp', 'oldEntropy'],
  ...['oldValues', 'advantages', 'returns', 'correction', 'mask', 'turns'],
]
const sequenceInputs = ['groups', 'rewards', 'baseline', 'truncated', 'tokenLimit']
const coarser: Readonly<Record<Level, readonly Level[]>> = {
  token: ['turn', 'sequence', 'group', 'position', 'batch', 'token'],
  turn: ['sequence', 'group', 'batch', 'turn'],
  sequence: ['group', 'batch', 'sequence'],
  group: ['batch', 'group'],
  position: ['batch', 'position'],
  pair: ['batch'],
  batch: ['batch'],
}

const infix: Readonly<Record<string, (a: string, b: string) => string>> = {
  '+': (a, b) => `${a} + ${b}`,
  '-': (a, b) => `${a} - ${b}`,
  '*': (a, b) => `${a} * ${b}`,
  '/': (a, b) => `${a} / ${b}`,
  '<': (a, b) => `number(${a} < ${b})`,
  '<=': (a, b) => `number(${a} <= ${b})`,
  '>': (a, b) => `number(${a} > ${b})`,
  '>=': (a, b) => `number(${a} >= ${b})`,
  '===': (a, b) => `number(${a} == ${b})`,
  '!==': (a, b) => `number(${a} != ${b})`,
  '&&': (a, b) => `number((${a} != 0) & (${b} != 0))`,
  '||': (a, b) => `number((${a} != 0) | (${b} != 0))`,
}
const arithmetic = ['+', '-', '*', '*', '/']
const comparisons = ['<', '<=', '>', '>=', '===', '!==']
const unaries = [
  ...['exp', 'log', 'expm1', 'log1p', 'sqrt', 'abs', 'square', 'sigmoid', 'logSigmoid', 'tanh'],
  ...['stopGradient', 'Math.exp', 'Math.abs', 'chosen', 'rejected', '-', '!'],
]
/** Kept where they are finite, most of the time. */
const bounded: Readonly<Record<string, readonly [js: (x: string) => string, python: (x: string) => string]>> =
  {
    exp: [(x) => `clip(${x}, -3, 3)`, (x) => `clip(${x}, number(-3), number(3))`],
    expm1: [(x) => `clip(${x}, -3, 3)`, (x) => `clip(${x}, number(-3), number(3))`],
    'Math.exp': [(x) => `Math.min(${x}, 3)`, (x) => `torch.minimum(${x}, number(3))`],
    log: [(x) => `(abs(${x}) + 0.1)`, (x) => `(torch.abs(${x}) + 0.1)`],
    log1p: [(x) => `abs(${x})`, (x) => `torch.abs(${x})`],
    sqrt: [(x) => `(abs(${x}) + 0.1)`, (x) => `(torch.abs(${x}) + 0.1)`],
  }

/** The finest of two, which one is broadcast to; null where they do not go together. */
function joined(a: Level, b: Level): Level | null {
  if (a === b || coarser[a].includes(b)) return a
  return coarser[b].includes(a) ? b : null
}

const same = (x: string): string => x
const awayFromZero = (x: Expression): Expression => ({
  ...x,
  js: `(abs(${x.js}) + 0.2)`,
  python: `(torch.abs(${x.python}) + 0.2)`,
})

class Maker {
  readonly #random: SequentialRandom

  constructor(seed: number) {
    this.#random = new SequentialRandom(randomStream(0x10551, seed))
  }

  #pick = <T>(from: readonly T[]): T => from[Math.floor(this.#random.uniform() * from.length)]!
  #chance = (p: number): boolean => this.#random.uniform() < p

  loss(): RandomLoss {
    const parts = Array.from({ length: this.#chance(0.2) ? 2 : 1 }, () => this.#part())
    return {
      js: parts.map(({ js }) => js).join(' + '),
      python: parts.map(({ python }) => python).join(' + '),
    }
  }

  /** Mostly something that has a gradient, whatever becomes of it. */
  #part(): Expression {
    const x = this.#tensor(4)
    const name = this.#pick(['logp', 'logp', 'entropy', 'values'])
    const head: Expression = { js: name, python: `inputs["${name}"]`, level: 'token', isTensor: true }
    const product = this.#chance(0.7)
      ? this.#multiplied(this.#unary(this.#pick(unaries), head) ?? head, x)
      : null
    return this.#reduced(product ?? x, 'batch')
  }

  #multiplied(a: Expression, b: Expression): Expression | null {
    const operands = this.#together([a, b])
    if (operands === null) return null
    const { level, at, js } = operands
    return { js: `(${js[0]!} * ${js[1]!})`, python: `(${at[0]!} * ${at[1]!})`, level, isTensor: true }
  }

  #tensor(depth: number): Expression {
    for (;;) {
      const made = this.#expression(depth)
      if (made?.isTensor === true) return made
    }
  }

  #expression(depth: number): Expression | null {
    if (depth <= 0 || this.#chance(0.1)) return this.#leaf()
    const kind = this.#random.uniform()
    if (kind < 0.35) return this.#binary(this.#pick(arithmetic), depth)
    if (kind < 0.42) return this.#binary(this.#pick(comparisons), depth)
    if (kind < 0.46) return this.#binary(this.#pick(['&&', '||']), depth)
    if (kind < 0.6) return this.#unary(this.#pick(unaries), this.#tensor(depth - 1))
    if (kind < 0.72) return this.#choice(depth)
    if (kind < 0.82) return this.#clipped(depth)
    if (kind < 0.86) return this.#power(depth)
    const x = this.#tensor(depth - 1)
    return this.#reduced(x, this.#pick(coarser[x.level]))
  }

  #leaf(): Expression {
    const kind = this.#random.uniform()
    if (kind < 0.25) {
      const value = this.#pick(['0', '1', '2', '-1', '0.5', '1.3', '-0.4'])
      return {
        js: value.startsWith('-') ? `(${value})` : value,
        python: `number(${value})`,
        level: 'batch',
        isTensor: false,
      }
    }
    if (kind < 0.35) {
      const name = this.#pick(Object.keys(settings))
      return { js: `settings.${name}`, python: `settings["${name}"]`, level: 'batch', isTensor: false }
    }
    const isToken = kind < 0.9
    const name = this.#pick(isToken ? tokenInputs : sequenceInputs)
    return { js: name, python: `inputs["${name}"]`, level: isToken ? 'token' : 'sequence', isTensor: true }
  }

  /** At one level, of which at least one is a tensor; null where they do not go together. */
  #together(operands: readonly (Expression | null)[]): { level: Level; at: string[]; js: string[] } | null {
    const given = operands.filter((x) => x !== null)
    if (given.length < operands.length || !given.some(({ isTensor }) => isTensor)) return null
    const level = given.reduce<Level | null>(
      (finest, x) => (finest === null ? null : joined(finest, x.level)),
      'batch',
    )
    if (level === null) return null
    const at = given.map((x) => (x.level === level ? x.python : `at(${x.python}, "${x.level}", "${level}")`))
    return { level, at, js: given.map(({ js }) => js) }
  }

  #binary(operator: string, depth: number): Expression | null {
    const isLogic = operator === '&&' || operator === '||'
    const a = isLogic ? this.#tensor(depth - 1) : this.#expression(depth - 1)
    const b = this.#expression(depth - 1)
    const isBounded = operator === '/' && this.#chance(0.9)
    const operands = this.#together([a, b && isBounded ? awayFromZero(b) : b])
    if (operands === null) return null
    const { level, at, js } = operands
    return {
      js: `(${js[0]!} ${operator} ${js[1]!})`,
      python: `(${infix[operator]!(at[0]!, at[1]!)})`,
      level,
      isTensor: true,
    }
  }

  #unary(name: string, x: Expression): Expression | null {
    const { level } = x
    if (name === '-') return { js: `(-${x.js})`, python: `(-${x.python})`, level, isTensor: true }
    if (name === '!') return { js: `!${x.js}`, python: `number(${x.python} == 0)`, level, isTensor: true }
    if (name === 'chosen' || name === 'rejected') {
      const python = `half(${x.python}, ${name === 'chosen' ? '0' : '1'})`
      return level === 'sequence' ? { js: `${name}(${x.js})`, python, level: 'pair', isTensor: true } : null
    }
    const [js, python] = (this.#chance(0.9) ? bounded[name] : undefined) ?? [same, same]
    const own = name.replace('Math.', '')
    return { js: `${name}(${js(x.js)})`, python: `${own}(${python(x.python)})`, level, isTensor: true }
  }

  #choice(depth: number): Expression | null {
    const condition = this.#chance(0.7)
      ? this.#binary(this.#pick(comparisons), depth - 1)
      : this.#tensor(depth - 1)
    const plain = () => (this.#chance(0.5) ? this.#leaf() : this.#expression(depth - 1))
    const operands = this.#together([condition, plain(), plain()])
    if (operands === null || condition?.isTensor !== true) return null
    const { level, at, js } = operands
    return {
      js: `where(${js.join(', ')})`,
      python: `torch.where(${at[0]!} != 0, ${at[1]!}, ${at[2]!})`,
      level,
      isTensor: true,
    }
  }

  #clipped(depth: number): Expression | null {
    const bound = () => (this.#chance(0.7) ? this.#leaf() : this.#expression(depth - 1))
    const isClip = this.#chance(0.6)
    const operands = this.#together([this.#tensor(depth - 1), bound(), ...(isClip ? [bound()] : [])])
    if (operands === null) return null
    const { level, at, js } = operands
    const name = isClip ? 'clip' : this.#pick(['min', 'max'])
    const python = isClip ? `clip(${at.join(', ')})` : `torch.${name}imum(${at.join(', ')})`
    return { js: `${name}(${js.join(', ')})`, python, level, isTensor: true }
  }

  #power(depth: number): Expression | null {
    const operands = this.#together([awayFromZero(this.#tensor(depth - 1)), this.#expression(1)])
    if (operands === null) return null
    const { level, at, js } = operands
    return {
      js: `(${js[0]!} ** clip(${js[1]!}, -2, 3))`,
      python: `(${at[0]!} ** clip(${at[1]!}, number(-2), number(3)))`,
      level,
      isTensor: true,
    }
  }

  #reduced(x: Expression, over: Level): Expression {
    const name = this.#pick(['sum', 'mean', 'mean', 'last'])
    const weights = this.#random.uniform()
    const mask: Expression | null =
      weights < 0.3
        ? null
        : weights < 0.7 && x.level === 'token'
          ? { js: 'mask', python: 'inputs["mask"]', level: 'token', isTensor: true }
          : this.#expression(2)
    const isUsed = mask !== null && joined(x.level, mask.level) === x.level
    const at = isUsed
      ? mask.level === x.level
        ? mask.python
        : `at(${mask.python}, "${mask.level}", "${x.level}")`
      : 'None'
    return {
      js: `${name}(${[x.js, ...(isUsed ? [mask.js] : []), `'${over}'`].join(', ')})`,
      python: `reduced("${name}", ${x.python}, ${at}, "${x.level}", "${over}")`,
      level: over,
      isTensor: true,
    }
  }
}

export const randomLoss = (seed: number): RandomLoss => new Maker(seed).loss()

/** All of them as one file, chosen by the setting `which`. */
export const lossFile = (losses: readonly string[]): string => `
const losses = [
${losses.map((js) => `  ({ logp, entropy, values, oldLogp, refLogp, samplerLogp, oldEntropy, oldValues, advantages, returns, correction, mask, turns, groups, rewards, baseline, truncated, tokenLimit, settings }) => ${js},`).join('\n')}
]
export default defineLoss({
  settings: ${JSON.stringify({ which: 0, ...settings })},
  loss(inputs) { return losses[inputs.settings.which](inputs) },
})`

/** [positions before the first action, tokens of each turn]; two rows to a group, and to a pair. */
const shapes = [
  [0, 2, 1],
  [2, 3],
  [0, 1],
  [1, 1, 2],
] as const

/** Rows like those of a run: what is given for each token lies apart from 0 and from other values. */
export function randomRows(seed: number): LossRow[] {
  const random = new SequentialRandom(randomStream(0x2055, seed))
  return shapes.map(([before, ...turns], i) => {
    const turnIds = Int32Array.from([
      ...new Array<number>(before).fill(-1),
      ...turns.flatMap((length, turn) => [
        ...(turn > 0 ? [-1] : []),
        ...new Array<number>(length).fill(turn),
      ]),
    ])
    const draw = (low: number, high: number) =>
      Float64Array.from(turnIds, () => low + (high - low) * random.uniform())
    return {
      group: i >> 1,
      actionMask: Uint8Array.from(turnIds, (turn) => Number(turn >= 0)),
      turnIds,
      turnRewards: [random.uniform(), -random.uniform()],
      truncated: i === 1,
      tokenLimit: 24,
      baselineReward: 0.25 * i,
      logprobs: draw(-3, -0.1),
      behaviorLogprobs: draw(-3, -0.1),
      samplerLogprobs: draw(-3, -0.1),
      referenceLogprobs: draw(-3, -0.1),
      entropies: draw(0.2, 3),
      behaviorEntropies: draw(0.2, 3),
      values: draw(-0.5, 1),
      behaviorValues: draw(-0.5, 1),
      returns: draw(-0.5, 1),
      advantages: draw(-1, 1),
      tokenRewards: null,
      lastStateValue: null,
      correction: draw(0.3, 1),
    }
  })
}

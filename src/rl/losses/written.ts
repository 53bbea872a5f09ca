/** A user-written loss as an algorithm, which training treats like any other. */
import { AppError } from '#shared/errors.ts'
import {
  choiceSetting,
  flagSetting,
  numberSetting,
  optionalNumberSetting,
  parseSettings,
  type SettingsTable,
  textSetting,
} from '#shared/config/settings.ts'
import type { AdvantageRow, InputName } from '#shared/lossLanguage.ts'
import { advantagesSchema, type LossDescription, type LossNode, type LossProgram } from '#shared/losses.ts'
import type { Algorithm } from '../algorithms/define.ts'
import { addTallies, type Tallies } from '../algorithms/terms/tally.ts'
import { turnOfTokens } from '../algorithms/terms/turns.ts'
import type {
  Advantages,
  ConfiguredAlgorithm,
  Experience,
  LearningRow,
  LossRow,
  MinibatchLoss,
  Needs,
} from '../algorithms/types.ts'
import { checkLoss, type LossCheckOptions, unsoundLoss } from './check.ts'
import { evaluate } from './evaluate.ts'
import { inputsOf, pruned } from './program.ts'

type Settings = Readonly<Record<string, unknown>>

export interface WrittenLoss {
  /** Id by which a config names it. */
  readonly id: string
  readonly description: LossDescription
  /** The program traced with these settings, defaults filled in. Errors: AppError if there is none. */
  readonly programOf: (settings: Settings) => LossProgram
  /** The user's advantages of a batch; null if the code defines none. */
  readonly advantagesOf: ((rows: readonly AdvantageRow[], settings: Settings) => Promise<unknown>) | null
}

/** `algorithmById`: finds the built-in algorithm whose advantages are used. */
export function writtenAlgorithm(loss: WrittenLoss, algorithmById: (id: string) => Algorithm): Algorithm {
  const { id, description } = loss
  const settings = settingsTable(description)
  const title = description.title ?? id.split(/[\\/]/).at(-1) ?? id
  const size = description.groupSize ?? (description.experience === 'rollout' ? 8 : 1)
  return {
    id,
    title,
    description: description.description ?? 'A loss of your own.',
    source: description.source ?? '',
    experience: description.experience,
    groupSize: { default: size, minimum: 1 },
    settings,
    configure(given) {
      const values = parseSettings(settings, given, 'algorithm.settings')
      const program = loss.programOf(values)
      const like = likeOf(program, description)
      const builtIn = like && algorithmById(like.algorithm).configure(like.settings)
      const advantages = advantagesWith(loss, values, builtIn)
      const needs = needsOf(program, description, advantages.needs)
      return {
        id,
        experience: description.experience,
        groupSize: { default: size, minimum: 1 },
        needs,
        acceptance: null,
        advantages: advantages.of,
        needsAdvantage: false,
        minibatchLoss: (minibatch) => partLoss(program, minibatch),
        admit: admission(title, program, { unit: needs.unit, experience: description.experience }),
      }
    },
  }
}

/** Checks a loss on the first real batch that it is to learn from. Errors: AppError 'loss/failed'. */
function admission(
  title: string,
  program: LossProgram,
  options: LossCheckOptions,
): NonNullable<ConfiguredAlgorithm['admit']> {
  let isSound = false
  return (rows, textOf) => {
    if (isSound) return
    const fault = checkLoss(program, rows, options)
    if (fault !== null)
      throw unsoundLoss(title, fault, fault.token === null ? undefined : textOf(fault.token))
    isSound = true
  }
}

/** Settings as the code declares them, with their limits. */
export const settingsTable = ({ settings }: LossDescription): SettingsTable =>
  Object.fromEntries(Object.entries(settings).map(([name, setting]) => [name, schemaOf(setting)]))

function schemaOf(setting: LossDescription['settings'][string]): SettingsTable[string] {
  const { default: initial, options, description = '', minimum, maximum, integer } = setting
  const limits = {
    description,
    ...(minimum === undefined ? {} : { minimum }),
    ...(maximum === undefined ? {} : { maximum }),
    ...(integer === undefined ? {} : { integer }),
  }
  if (options !== undefined) return choiceSetting(options, String(initial), description)
  if (initial === null) return optionalNumberSetting({ default: null, ...limits })
  if (typeof initial === 'number') return numberSetting({ default: initial, ...limits })
  return typeof initial === 'boolean' ? flagSetting(initial, description) : textSetting(initial, description)
}

/** Returns the needs of a loss: the inputs that it reads, and those of its advantages. */
function needsOf(program: LossProgram, description: LossDescription, ofAdvantages: Partial<Needs>): Needs {
  const names = [...inputsOf(program), ...description.needs]
  const isUsed = (...some: InputName[]) => names.some((name) => some.includes(name))
  const enters = (...some: InputName[]) => description.needs.some((name) => some.includes(name))
  const either = (need: keyof Needs, isAsked: boolean) => isAsked || ofAdvantages[need] === true
  return {
    behavior: either('behavior', enters('oldLogp', 'refLogp', 'oldEntropy')),
    ratio: isUsed('oldLogp', 'samplerLogp', 'correction'),
    behaviorEntropies: isUsed('oldEntropy'),
    reference: either('reference', isUsed('refLogp', 'topLogp', 'topRefLogp')),
    values: either('values', isUsed('values', 'oldValues', 'returns')),
    greedyBaseline: either('greedyBaseline', isUsed('baseline')),
    mismatched: false,
    rewards: either('rewards', description.experience === 'rollout' && isUsed('rewards', 'baseline')),
    teacher: either('teacher', false),
    likeliest: isUsed('topLogp', 'topRefLogp') ? description.topK : 0,
    entropyGradient: inputsOf({ ...program, metrics: {} }).has('entropy'),
    unit: description.experience === 'preferences' ? 2 : 1,
  }
}

// ---- advantages ----

interface AdvantageSource {
  readonly needs: Partial<Needs>
  readonly of: ConfiguredAlgorithm['advantages']
}

function advantagesWith(
  { id, description, advantagesOf }: WrittenLoss,
  settings: Settings,
  builtIn: ConfiguredAlgorithm | null,
): AdvantageSource {
  if (advantagesOf !== null) {
    return {
      needs: { rewards: description.experience === 'rollout' },
      of: async (batch) => readAdvantages(await advantagesOf(batch.map(advantageRow), settings), batch, id),
    }
  }
  if (builtIn === null) return { needs: {}, of: everyToken }
  // Without what only that algorithm's loss needs.
  const { behavior, values, greedyBaseline, rewards, reference, teacher } = builtIn.needs
  const compared = { reference: behavior && reference, teacher: behavior && teacher }
  return {
    needs: { behavior, values, greedyBaseline, rewards, ...compared },
    of: (batch) => builtIn.advantages(batch),
  }
}

/** Inputs by which rewards reach a loss. */
const judging = ['advantages', 'returns', 'rewards', 'baseline'] as const

/** The built-in algorithm that a loss without advantages of its own takes them from; null where it learns from every token alike. */
function likeOf(program: LossProgram, { experience, like }: LossDescription): LossDescription['like'] {
  if (experience !== 'rollout') return null
  const inputs = inputsOf(program)
  const isJudged = judging.some((name) => inputs.has(name))
  return like ?? (isJudged ? { algorithm: 'grpo', settings: {} } : null)
}

const everyToken = (batch: readonly Experience[]): Advantages => ({
  tokens: batch.map(({ actionMask }) => Float64Array.from(actionMask)),
  returns: null,
  kept: batch.map((_, i) => i),
})

function advantageRow(row: Experience): AdvantageRow {
  const { actionMask, turnRewards, behaviorLogprobs, referenceLogprobs, behaviorEntropies } = row
  const atActions = (values: ArrayLike<number> | null) =>
    values && Array.from(values).filter((_, t) => actionMask[t] === 1)
  const turns = atActions(turnOfTokens(row)) ?? []
  return {
    group: row.group,
    reward: turnRewards.reduce((sum, reward) => sum + reward, 0),
    rewards: turnRewards,
    tokenRewards: atActions(row.tokenRewards),
    tokens: turns.length,
    turns,
    truncated: row.truncated,
    tokenLimit: row.tokenLimit,
    baseline: row.baselineReward,
    oldLogp: atActions(behaviorLogprobs),
    refLogp: atActions(referenceLogprobs),
    oldEntropy: atActions(behaviorEntropies),
    oldValues: atActions(row.behaviorValues),
    lastStateValue: row.lastStateValue,
  }
}

/** Errors: AppError 'loss/failed' unless there is exactly one answer per row. */
function readAdvantages(answer: unknown, batch: readonly Experience[], id: string): Advantages {
  const rows = advantagesSchema.safeParse(answer)
  if (!rows.success || rows.data.length !== batch.length) {
    const got = rows.success
      ? `${rows.data.length} answers`
      : (rows.error.issues[0]?.message ?? 'another answer')
    throw advantagesFailed(id, `Expected one answer for each of ${batch.length} trajectories, got ${got}.`)
  }
  const given = rows.data.map((row) =>
    row === null
      ? null
      : typeof row === 'object' && !Array.isArray(row)
        ? row
        : { advantages: row, returns: null },
  )
  const onTokens = (values: number | readonly number[], i: number) => atTokens(values, batch[i]!, i, id)
  const hasReturns = given.some((row) => row?.returns != null)
  return {
    tokens: given.map((row, i) => onTokens(row?.advantages ?? 0, i)),
    returns: hasReturns ? given.map((row, i) => onTokens(row?.returns ?? 0, i)) : null,
    kept: given.flatMap((row, i) => (row === null ? [] : [i])),
  }
}

function atTokens(
  values: number | readonly number[],
  { actionMask }: Experience,
  row: number,
  id: string,
): Float64Array {
  const tokens = actionMask.reduce((count, is) => count + is, 0)
  if (typeof values !== 'number' && values.length !== tokens) {
    throw advantagesFailed(
      id,
      `Trajectory ${row + 1} has ${tokens} tokens to learn from, but its list has ${values.length} numbers.`,
    )
  }
  let next = 0
  return Float64Array.from(actionMask, (isAction) =>
    isAction === 0 ? 0 : typeof values === 'number' ? values : values[next++]!,
  )
}

const advantagesFailed = (id: string, message: string): AppError =>
  new AppError(
    'loss/failed',
    `The advantages of ${id} failed: ${message}`,
    'Return a list with one entry per row: a number, a list with one number per token, { advantages, returns }, or null to leave the row out.',
  )

// ---- the loss of a minibatch ----

/**
 * Each micro-batch counts with its weight, so that the micro-batches of a minibatch add up to the mean over all of it.
 */
function partLoss(program: LossProgram, minibatch: readonly LearningRow[]): MinibatchLoss {
  const whole = wholeWeights(program, minibatch)
  return (part) => {
    const evaluation = evaluate(program, part)
    const factors = evaluation.weights.map((weight, i) => (whole[i] === 0 ? 0 : weight / whole[i]!))
    const count = evaluation.weights[0]!
    const tallies: Tallies = Object.fromEntries(
      Object.entries(evaluation.metrics).map(([name, value]) => [name, { sum: value * count, count }]),
    )
    return {
      loss: evaluation.losses.reduce((sum, loss, i) => sum + factors[i]! * loss, 0),
      coefficients: evaluation.gradient(factors),
      tallies: addTallies([tallies]),
    }
  }
}

/** Weights depend on masks alone, so they are known before the policy has scored anything. */
function wholeWeights(program: LossProgram, minibatch: readonly LearningRow[]): readonly number[] {
  return evaluate(weighing(program), minibatch.map(withoutHeads)).weights
}

/** The same program, reduced to the weights. */
export function weighing(program: LossProgram): LossProgram {
  const nodes: LossNode[] = [...program.nodes, { op: 'number', per: 'batch', of: [], value: '0' }]
  const terms = program.terms.map(({ weight }) => ({ loss: program.nodes.length, weight }))
  return pruned({ nodes, terms, metrics: {} })
}

function withoutHeads(row: LearningRow): LossRow {
  const zeros = new Float64Array(row.actionMask.length)
  return {
    ...row,
    behaviorLogprobs: row.behaviorLogprobs ?? zeros,
    logprobs: zeros,
    entropies: zeros,
    values: zeros,
    correction: null,
    ...(row.likeliest && { likeliestLogprobs: new Float64Array(row.likeliest.ids.length) }),
  }
}

/**
 * Translates how the tools cut a step into updates: sequences per device, prompts per update, or a number of pieces.
 */
import { invalidConfig } from '#shared/errors.ts'
import { noun, plural } from '#shared/plural.ts'
import { asNumber, tidy, type Given, type Link, type Quantities, type Remark } from './links.ts'

const countOf = (given: Given, name: string): number => asNumber(given(name)) ?? 0

/** Sizes there are, as far as the names say them; one device. */
interface Sizes {
  readonly groupSize: number
  readonly perStep: number
  readonly perUpdate: number
  readonly epochs: number
}

/** Number of whole prompts, the nearest one where the sizes of one process hold none. */
const promptsOf = ({ perStep, groupSize }: Sizes): number =>
  groupSize > 0 ? Math.max(1, Math.round(perStep / groupSize)) : 1

const wholePrompts = (count: number): string => `${noun(count, 'is', 'are')} ${plural(count, 'whole prompt')}`

/** Limit on processes: more than anyone starts. */
const mostProcesses = 64

function remarkRounding(sizes: Sizes, remark: Remark): void {
  const { perStep, groupSize } = sizes
  if (groupSize <= 0 || perStep % groupSize === 0) return
  const processes = Array.from({ length: mostProcesses }, (_, i) => i + 1).find(
    (count) => (perStep * count) % groupSize === 0,
  )
  const whole =
    processes === undefined
      ? ''
      : ` With ${plural(processes, 'process', 'processes')} there ${wholePrompts((perStep * processes) / groupSize)}.`
  remark(
    `${plural(perStep, 'completion')} at once ${noun(perStep, 'is', 'are')} no multiple of the ${groupSize} per prompt: rounded to ${plural(promptsOf(sizes), 'prompt')}.${whole}`,
  )
}

/** Processes of a launcher; a settings file does not say them. */
function processesOf(given: Given, remark: Remark): number {
  const known = asNumber(given('num_processes'))
  if (known === null)
    remark(
      'The file does not say how many processes it runs on, so one was assumed; with N processes a batch is N times as large.',
    )
  return known ?? 1
}

/** Size of an update; null: all of the step. */
const minibatchOf = ({ perStep, perUpdate }: Sizes): number | null => {
  if (perUpdate === perStep) return null
  if (perUpdate > 0 && perStep % perUpdate === 0) return perUpdate
  throw invalidConfig(
    `The file learns from ${plural(perUpdate, 'completion')} per update, which does not divide the ${perStep} that it generates at once.`,
    'Correct its batch sizes.',
  )
}

const updatesPerStep = ({ perStep, perUpdate, epochs }: Sizes): number =>
  (perStep / Math.max(perUpdate, 1)) * Math.max(epochs, 1)

const trlBatchKeys = {
  per_device_train_batch_size: 8,
  gradient_accumulation_steps: 1,
  steps_per_generation: null,
  generation_batch_size: null,
  num_iterations: 1,
  num_processes: null,
}

/** TRL's trainers that generate. `groupSize` is their default. */
function trlSizes(given: Given): Sizes {
  const perDevice = countOf(given, 'per_device_train_batch_size') * (asNumber(given('num_processes')) ?? 1)
  const accumulated = countOf(given, 'gradient_accumulation_steps')
  const pieces = asNumber(given('steps_per_generation')) ?? accumulated
  return {
    groupSize: countOf(given, 'num_generations'),
    perStep: asNumber(given('generation_batch_size')) ?? perDevice * pieces,
    perUpdate: perDevice * accumulated,
    epochs: countOf(given, 'num_iterations'),
  }
}

const trlKeys = (groupSize: number) => ({ ...trlBatchKeys, num_generations: groupSize })

export const trlPrompts = (groupSize: number): Link => ({
  keys: trlKeys(groupSize),
  read(given, remark) {
    const sizes = trlSizes(given)
    processesOf(given, remark)
    remarkRounding(sizes, remark)
    return promptsOf(sizes)
  },
  write: (_, { perStep }) => ({ generation_batch_size: perStep, steps_per_generation: null }),
})

export const trlMinibatch = (groupSize: number): Link => ({
  keys: trlKeys(groupSize),
  read(given, remark) {
    const sizes = trlSizes(given)
    const perStep = promptsOf(sizes) * sizes.groupSize
    if (sizes.perUpdate === sizes.perStep) return null
    const perUpdate = (perStep * sizes.perUpdate) / sizes.perStep
    if (Number.isInteger(perUpdate) && perUpdate > 0 && perStep % perUpdate === 0) return perUpdate
    remark(
      `${plural(sizes.perUpdate, 'completion')} per update ${noun(sizes.perUpdate, 'does', 'do')} not divide the ${sizes.perStep} that are generated at once: Turnwise learns from all of a step at once.`,
    )
    return null
  },
  write: (_, quantities) => perDeviceSizes(quantities),
})

const perDeviceSizes = ({ perUpdate, perDevice }: Quantities) => ({
  per_device_train_batch_size: perDevice,
  gradient_accumulation_steps: perUpdate / perDevice,
})

/** TRL's trainers on given answers take one batch per update. */
export const rowsPerUpdate = (perDevice: string, initial: number): Link => ({
  keys: { [perDevice]: initial, gradient_accumulation_steps: 1, num_processes: null },
  read(given, remark) {
    const [rows, accumulated] = [perDevice, 'gradient_accumulation_steps'].map((name) =>
      asNumber(given(name)),
    )
    if (typeof rows !== 'number') return undefined
    return rows * (accumulated ?? 1) * processesOf(given, remark)
  },
  write: (_, quantities) => perDeviceSizes(quantities),
})

/** Converts a number of updates of the tool to steps of a run; −1 or null counts as none. */
const inSteps = (updates: unknown, perStep: number): number | null => {
  const count = asNumber(updates)
  return count === null || count <= 0 ? null : Math.max(1, Math.round(count / perStep))
}

const inUpdates = (steps: unknown, perStep: number): number | null => {
  const count = asNumber(steps)
  return count === null ? null : count * perStep
}

export const trlLength = (groupSize: number | null): Link => ({
  keys: { max_steps: -1, ...(groupSize === null ? {} : trlKeys(groupSize)) },
  read: (given) => inSteps(given('max_steps'), groupSize === null ? 1 : updatesPerStep(trlSizes(given))),
  write: (_, quantities) => ({ max_steps: quantities.steps * quantities.updatesPerStep }),
})

export const evaluations = {
  strategy: 'eval_strategy',
  steps: 'eval_steps',
  initial: 'no',
  every: null,
} as const
export const saves = { strategy: 'save_strategy', steps: 'save_steps', initial: 'steps', every: 500 } as const

/** Steps between evaluations or checkpoints; 0 is never. */
export const trlInterval = (
  name: {
    readonly strategy: string
    readonly steps: string
    readonly initial: string
    readonly every: number | null
  },
  groupSize: number | null,
): Link => ({
  keys: {
    [name.strategy]: name.initial,
    [name.steps]: name.every,
    logging_steps: 10,
    ...(groupSize === null ? {} : trlKeys(groupSize)),
  },
  read(given, remark) {
    const strategy = given(name.strategy)
    // An unquoted `no` is false.
    if (strategy === 'no' || strategy === false) return 0
    if (strategy !== 'steps') {
      remark(`${name.strategy} “${String(strategy)}” has no equivalent; Turnwise takes a number of steps.`)
      return undefined
    }
    const every = given(name.steps) ?? given('logging_steps')
    if (typeof every === 'number' && every > 0 && every < 1) {
      remark(`${name.steps} is a fraction of all steps; Turnwise takes a number of steps.`)
      return undefined
    }
    return inSteps(every, groupSize === null ? 1 : updatesPerStep(trlSizes(given))) ?? undefined
  },
  write: (value, { updatesPerStep: updates }) =>
    value === 0
      ? { [name.strategy]: 'no', [name.steps]: null }
      : { [name.strategy]: 'steps', [name.steps]: inUpdates(value, updates) },
})

/** A share below 1, or a number of updates, of all updates. */
export const warmupOf = (initial: number): Link => ({
  keys: { warmup_steps: null, warmup_ratio: null, max_steps: -1 },
  read(given, remark) {
    const [ratio, count] = [asNumber(given('warmup_ratio')), asNumber(given('warmup_steps'))]
    const isCounted = count !== null && count > 0
    if (isCounted && ratio !== null && ratio > 0)
      remark(`warmup_ratio (${ratio}) was skipped: warmup_steps (${count}) stands over it.`)
    const warmup = isCounted ? count : (ratio ?? count ?? initial)
    if (warmup < 1) return warmup
    const all = countOf(given, 'max_steps')
    if (all > 0) return tidy(Math.min(1, warmup / all))
    remark(
      'warmup_steps counts updates, and the file does not say how many there are; Turnwise needs a share.',
    )
    return undefined
  },
  write(value, { steps, updatesPerStep: updates }) {
    const all = steps * updates
    const share = Number(value)
    const isWhole = share < 1 && Math.ceil(all * share) === Math.floor(all * share)
    return { warmup_steps: isWhole ? share : Math.floor(all * share) }
  },
})

/** AReaL says into how many mini-batches a step is cut. */
export const arealMinibatch: Link = {
  keys: { 'actor.ppo_n_minibatches': 4, 'train_dataset.batch_size': 1, 'gconfig.n_samples': 1 },
  read(given, remark) {
    const groupSize = countOf(given, 'gconfig.n_samples')
    const perStep = countOf(given, 'train_dataset.batch_size') * groupSize
    const pieces = countOf(given, 'actor.ppo_n_minibatches')
    if (pieces > 0 && perStep % pieces === 0)
      return minibatchOf({ groupSize, perStep, perUpdate: perStep / pieces, epochs: 1 })
    remark(
      `The ${perStep} completions of a step cannot be divided into ${pieces} equal mini-batches, which Turnwise requires.`,
    )
    return undefined
  },
}

/** AgileRL's mini-batch, which counts rows of given answers, of which ours has `unit` trajectories each. */
export const agilerlMinibatch = (groupSize: number, unit = 1): Link => ({
  keys: { mini_batch_size: null, batch_size: 16, group_size: groupSize },
  read(given) {
    const perUpdate = asNumber(given('mini_batch_size'))
    const perStep = countOf(given, 'batch_size') * countOf(given, 'group_size')
    const count = perUpdate === null ? null : minibatchOf({ groupSize, perStep, perUpdate, epochs: 1 })
    return count === null ? null : count * unit
  },
  write: (_, { perUpdate }) => ({ mini_batch_size: perUpdate }),
})

/** DPO's losses: TRL has a list of them with weights, in which the likelihood of the chosen answer is one. */
import { smoothedLosses, type PreferenceLossName } from '#rl/algorithms/dpo.ts'
import { asNumber, tidy, type Given, type Link } from './links.ts'
import { listOf } from './specialLinks.ts'

/** Ours → theirs; `conservative` is in no version of TRL. */
const names: Readonly<Partial<Record<PreferenceLossName, string>>> = {
  sigmoid: 'sigmoid',
  hinge: 'hinge',
  ipo: 'ipo',
  robust: 'robust',
  exo: 'exo_pair',
  sppo: 'sppo_hard',
  'apo-zero': 'apo_zero',
  'apo-down': 'apo_down',
}

const ours = (theirs: unknown): PreferenceLossName | undefined =>
  (Object.keys(names) as PreferenceLossName[]).find((name) => names[name] === theirs)

/** Losses of pairs that a file names; toolAlgorithms refuses those that do not exist here, and several at once. */
export const pairLosses = (given: Given): readonly unknown[] =>
  listOf(given('loss_type') ?? 'sigmoid').filter((type) => type !== 'sft')

export const isKnownPairLoss = (type: unknown): boolean => ours(type) !== undefined

export const trlPreferenceLosses = Object.values(names)

const keys = { loss_type: ['sigmoid'], loss_weights: null }

export const preferenceLoss: Link = {
  keys: { loss_type: keys.loss_type },
  read: (given) => ours(pairLosses(given)[0]),
  // The weight of the likelihood writes the list.
  write: (value) => (names[value as PreferenceLossName] === undefined ? { loss_type: undefined } : {}),
}

export const nllWeight: Link = {
  keys,
  read(given, remark) {
    const [types, weights] = [listOf(given('loss_type')), listOf(given('loss_weights'))]
    const weightOf = (type: unknown) =>
      types.includes(type) ? (asNumber(weights[types.indexOf(type)]) ?? 1) : 0
    const main = weightOf(pairLosses(given)[0]) || 1
    if (main !== 1) remark(`The weight ${main} of the loss of pairs scales all of it there; here it is 1.`)
    return tidy(weightOf('sft') / main)
  },
  write(value, { preferenceLoss: loss }) {
    const name = names[loss as PreferenceLossName] ?? 'sigmoid'
    return value === 0
      ? { loss_type: [name], loss_weights: [1] }
      : { loss_type: [name, 'sft'], loss_weights: [1, value] }
  },
}

export const labelSmoothing: Link = {
  keys: { label_smoothing: 0, ...keys },
  read(given, remark) {
    const [value, type] = [given('label_smoothing'), pairLosses(given)[0]]
    const loss = ours(type)
    if (value === 0 || (loss !== undefined && smoothedLosses.includes(loss))) return value
    remark(`TRL's loss ${String(type)} ignores label_smoothing, so it is 0 here.`)
    return 0
  },
  write: (value, { preferenceLoss: loss }) => ({
    label_smoothing: loss === 'conservative' ? undefined : value,
  }),
}

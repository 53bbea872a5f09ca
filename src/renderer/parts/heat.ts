/** Colours of token values: signed ones from orange through none to blue, others from none to teal. */
import { formatDelta, formatNumber } from '#renderer/client/format.ts'
import type { TokenRow, TokenValue } from './tokenRows.ts'

export interface HeatScale {
  readonly value: TokenValue
  readonly isSigned: boolean
  /** Value at full strength; of signed scales, to either side of 0. */
  readonly reach: number
  /** Position from −1 to 1 on signed scales, 0 to 1 on others; clipped outside. */
  readonly strength: (value: number) => number
}

interface HeatSpec {
  readonly title: string
  readonly help: string
  readonly isSigned: boolean
  /** Smallest reach, so that noise does not look like a signal. */
  readonly leastReach: number
  /** Position of a value on the scale, before division by the reach. */
  readonly place: (value: number) => number
}

export const heatSpecs: Readonly<Record<TokenValue, HeatSpec>> = {
  advantage: {
    title: 'Advantage',
    help: 'How much better than its baseline the token did: the update makes blue tokens more likely, orange ones less likely.',
    isSigned: true,
    leastReach: 0.1,
    place: (value) => value,
  },
  reward: {
    title: 'Reward',
    help: 'What the token itself earned; where rewards stand on turns, what its turn earned.',
    isSigned: true,
    leastReach: 0.1,
    place: (value) => value,
  },
  ratio: {
    title: 'Ratio',
    help: 'Probability under the policy that learned over that of the sampler; 1 where both agree. Far from 1 the update is clipped.',
    isSigned: true,
    leastReach: Math.log(1.2),
    place: Math.log,
  },
  kl: {
    title: 'KL',
    help: 'Log of the probability over that of the reference policy, in nats: blue tokens have become more likely than they were there.',
    isSigned: true,
    leastReach: 0.5,
    place: (value) => value,
  },
  entropy: {
    title: 'Entropy',
    help: 'How uncertain the policy was when it chose the token, in nats; 0 is certain.',
    isSigned: false,
    leastReach: 1,
    place: (value) => value,
  },
  probability: {
    title: 'Probability',
    help: 'Probability of the chosen token under the policy; the least likely are the strongest.',
    isSigned: false,
    leastReach: 1,
    place: (value) => 1 - value,
  },
  action: {
    title: 'Actions',
    help: 'Coloured tokens were chosen by the policy: these are learned. The others were given to it: prompts, and answers of tools or environments.',
    isSigned: false,
    leastReach: 2,
    place: (value) => value,
  },
}

/** Makes a scale; `reach`: its least extent, such as the largest advantage of the group, so that members compare. */
export function heatScale(value: TokenValue, rows: readonly TokenRow[], reach = 0): HeatScale {
  const { isSigned, leastReach, place } = heatSpecs[value]
  const sizes = rows.map((row) => Math.abs(place(row[value] ?? NaN))).filter((size) => Number.isFinite(size))
  const full =
    value === 'probability' ? 1 : sizes.reduce((a, b) => Math.max(a, b), Math.max(leastReach, reach))
  const strength = (given: number) => {
    const share = place(given) / full
    // A probability of 0 lies at minus infinity and gets full strength.
    return Math.min(1, Math.max(isSigned ? -1 : 0, Number.isNaN(share) ? 0 : share))
  }
  return { value, isSigned, reach: full, strength }
}

export interface HeatLook {
  readonly backgroundColor: string
  /** Underline that shows the sign without colour. */
  readonly underline: 'none' | 'positive' | 'negative'
}

/** Largest opacity at which text stays readable. */
const maxAlpha = 0.5
const noticeable = 0.04

export function heatLook(scale: HeatScale, value: number | null): HeatLook | null {
  if (value === null) return null
  const strength = scale.strength(value)
  if (Math.abs(strength) < noticeable) return null
  const alpha = (Math.abs(strength) * maxAlpha).toFixed(3)
  if (!scale.isSigned) return { backgroundColor: `rgb(var(--heat-one) / ${alpha})`, underline: 'none' }
  const name = strength > 0 ? 'positive' : 'negative'
  return { backgroundColor: `rgb(var(--heat-${name}) / ${alpha})`, underline: name }
}

export function legendOf({ value, isSigned, reach }: HeatScale): readonly string[] {
  if (value === 'probability') return ['1', '0']
  if (value === 'action') return ['given', 'chosen']
  if (value === 'ratio')
    return [`≤ ${formatNumber(Math.exp(-reach))}`, '1', `≥ ${formatNumber(Math.exp(reach))}`]
  return isSigned ? [formatDelta(-reach), '0', formatDelta(reach)] : ['0', formatNumber(reach)]
}

export const tokenValueText = (value: TokenValue, row: TokenRow): string => {
  const shown = row[value]
  return value === 'advantage' || value === 'reward' || value === 'kl'
    ? formatDelta(shown)
    : formatNumber(shown)
}

/** Describes a token in one line. */
export function tokenWords(row: TokenRow): string {
  const values = (['probability', 'advantage', 'reward', 'ratio', 'kl', 'entropy'] as const)
    .filter((value) => row[value] !== null)
    .map((value) => `${heatSpecs[value].title.toLowerCase()} ${tokenValueText(value, row)}`)
  return [`token ${String(row.index + 1)} ${visibleText(row.text)}`, ...values].join(' · ')
}

/** Replaces invisible characters by marks. */
export const visibleText = (text: string): string =>
  text === ''
    ? '(joined with the next)'
    : `“${text.replaceAll('\n', '⏎').replaceAll('\t', '⇥').replaceAll(' ', '␣')}”`

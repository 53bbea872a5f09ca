/** How the value of a token is coloured: signed values from orange over nothing to blue, others from nothing to teal. */
import { formatDelta, formatNumber } from '#renderer/client/format.ts'
import type { TokenRow, TokenValue } from './tokenRows.ts'

export interface HeatScale {
  readonly value: TokenValue
  readonly isSigned: boolean
  /** Value at full strength: of signed scales to either side of the middle. */
  readonly reach: number
  /** −1 to 1 of signed scales, 0 to 1 of the others; out of range is clipped. */
  readonly strength: (value: number) => number
}

interface HeatSpec {
  readonly title: string
  readonly help: string
  readonly isSigned: boolean
  /** Full strength is at least here, so that noise does not look like a signal. */
  readonly leastReach: number
  /** Where on the scale a value lies, before it is divided by the reach. */
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

/** `reach`: at least as far as this, such as the largest advantage of the group, so that its members can be compared. */
export function heatScale(value: TokenValue, rows: readonly TokenRow[], reach = 0): HeatScale {
  const { isSigned, leastReach, place } = heatSpecs[value]
  const sizes = rows.map((row) => Math.abs(place(row[value] ?? NaN))).filter((size) => Number.isFinite(size))
  const full =
    value === 'probability' ? 1 : sizes.reduce((a, b) => Math.max(a, b), Math.max(leastReach, reach))
  const strength = (given: number) => {
    const share = place(given) / full
    // A probability of 0 lies at minus infinity; it is as strong as can be.
    return Math.min(1, Math.max(isSigned ? -1 : 0, Number.isNaN(share) ? 0 : share))
  }
  return { value, isSigned, reach: full, strength }
}

export interface HeatLook {
  readonly backgroundColor: string
  /** Of the underline that tells the sign to those who do not see the colour. */
  readonly underline: 'none' | 'positive' | 'negative'
}

/** Colours end where text on them would be hard to read. */
const maxAlpha = 0.5
const noticeable = 0.04

/** null: nothing to see. */
export function heatLook(scale: HeatScale, value: number | null): HeatLook | null {
  if (value === null) return null
  const strength = scale.strength(value)
  if (Math.abs(strength) < noticeable) return null
  const alpha = (Math.abs(strength) * maxAlpha).toFixed(3)
  if (!scale.isSigned) return { backgroundColor: `rgb(var(--heat-one) / ${alpha})`, underline: 'none' }
  const name = strength > 0 ? 'positive' : 'negative'
  return { backgroundColor: `rgb(var(--heat-${name}) / ${alpha})`, underline: name }
}

/** Ends and middle of the scale, as its legend says them. */
export function legendOf({ value, isSigned, reach }: HeatScale): readonly string[] {
  if (value === 'probability') return ['1', '0']
  if (value === 'action') return ['given', 'chosen']
  if (value === 'ratio')
    return [`≤ ${formatNumber(Math.exp(-reach))}`, '1', `≥ ${formatNumber(Math.exp(reach))}`]
  return isSigned ? [formatDelta(-reach), '0', formatDelta(reach)] : ['0', formatNumber(reach)]
}

/** A value of a token as text. */
export const tokenValueText = (value: TokenValue, row: TokenRow): string => {
  const shown = row[value]
  return value === 'advantage' || value === 'reward' || value === 'kl'
    ? formatDelta(shown)
    : formatNumber(shown)
}

/** Everything known of a token, in one line. */
export function tokenWords(row: TokenRow): string {
  const values = (['probability', 'advantage', 'reward', 'ratio', 'kl', 'entropy'] as const)
    .filter((value) => row[value] !== null)
    .map((value) => `${heatSpecs[value].title.toLowerCase()} ${tokenValueText(value, row)}`)
  return [`token ${String(row.index + 1)} ${visibleText(row.text)}`, ...values].join(' · ')
}

/** With marks for what has no shape. */
export const visibleText = (text: string): string =>
  text === ''
    ? '(joined with the next)'
    : `“${text.replaceAll('\n', '⏎').replaceAll('\t', '⇥').replaceAll(' ', '␣')}”`

/** State of the samples page in the address, so that a link leads to the same token. */
import { heatSpecs } from '#renderer/parts/heat.ts'
import type { SampleSource } from '#renderer/parts/groups.ts'
import type { TokenValue } from '#renderer/parts/tokenRows.ts'

export interface SampleAddress {
  readonly source: SampleSource
  /** Null: the newest. */
  readonly step: number | null
  /** Range of steps instead of one; `all` of them. */
  readonly range: readonly [from: number, to: number] | 'all' | null
  readonly row: number | null
  readonly sample: number | null
  /** Null: the most informative value. */
  readonly colour: TokenValue | 'none' | null
  readonly view: 'group' | 'time'
  readonly filter: SampleFilter
}

export interface SampleFilter {
  readonly text: string
  readonly minReward: number | null
  readonly maxReward: number | null
  /** Row of the data set as numbered in Data, from 1. */
  readonly onlyRow: number | null
  /** Keeps samples for which a reward function failed. */
  readonly hasFailures: boolean
  /** Keeps samples ended by the length limit. */
  readonly isCutOff: boolean
}

export function readAddress(query: URLSearchParams): SampleAddress {
  const number = (name: string) => numberOf(query.get(name))
  const colour = query.get('colour') ?? ''
  const [from, to] = [number('from'), number('to')]
  return {
    source: query.get('source') === 'evaluation' ? 'evaluation' : 'rollout',
    step: number('step'),
    range: query.get('steps') === 'all' ? 'all' : from !== null && to !== null ? [from, to] : null,
    row: number('row'),
    sample: number('sample'),
    colour: isTokenValue(colour) || colour === 'none' ? colour : null,
    view: query.get('view') === 'time' ? 'time' : 'group',
    filter: {
      text: query.get('text') ?? '',
      minReward: number('min'),
      maxReward: number('max'),
      onlyRow: number('only'),
      hasFailures: query.has('failures'),
      isCutOff: query.has('cut'),
    },
  }
}

const isTokenValue = (text: string): text is TokenValue => Object.hasOwn(heatSpecs, text)

function numberOf(text: string | null): number | null {
  if (text === null || text.trim() === '') return null
  const value = Number(text)
  return Number.isFinite(value) ? value : null
}

/** Number of active filters in the menu; the text field is separate. */
export const filterCount = ({ minReward, maxReward, onlyRow, hasFailures, isCutOff }: SampleFilter): number =>
  [minReward !== null || maxReward !== null, onlyRow !== null, hasFailures, isCutOff].filter(Boolean).length

export const isFiltered = (filter: SampleFilter): boolean => filter.text !== '' || filterCount(filter) > 0

export const noFilter = { text: null, min: null, max: null, only: null, failures: null, cut: null } as const

export const requestOf = ({ text, minReward, maxReward, onlyRow, hasFailures }: SampleFilter) => ({
  ...(text === '' ? {} : { text }),
  ...(minReward === null ? {} : { minReward }),
  ...(maxReward === null ? {} : { maxReward }),
  ...(onlyRow === null ? {} : { dataRow: onlyRow - 1 }),
  ...(hasFailures ? { hasFailures } : {}),
})

/** Stored samples as groups: the completions of one prompt in one step. */
import { meanOf } from '#shared/mean.ts'
import type { Answer } from '#renderer/client/api.tsx'
import { formatCount, formatNumber, plural } from '#renderer/client/format.ts'

export type Sample = Answer<'samples.list'>[number]
export type SampleSource = Sample['source']

export interface SampleGroup {
  /** Stable: step, source and row. */
  readonly key: string
  readonly runId: string
  readonly step: number
  readonly source: SampleSource
  /** Index among the training rows, or the held-out rows. */
  readonly row: number
  /** Row number as in Data. */
  readonly rowWords: string
  readonly prompt: string
  /** Sorted by generation. */
  readonly samples: readonly Sample[]
  /** Mean over scored samples; null if there are none. */
  readonly meanReward: number | null
}

const groupKey = ({ step, source, row }: Pick<Sample, 'step' | 'source' | 'row'>): string =>
  `${String(step)}:${source}:${String(row)}`

/** Groups samples, newest step first, prompts in the order they were drawn. */
export function groupsOf(samples: readonly Sample[]): readonly SampleGroup[] {
  const byKey = Map.groupBy(samples, groupKey)
  const groups = [...byKey].flatMap(([key, members]) => {
    const inOrder = members.toSorted((a, b) => a.position - b.position)
    const [first] = inOrder
    if (first === undefined) return []
    const { runId, step, source, row, prompt } = first
    const meanReward = meanOf(inOrder.map(({ reward }) => reward))
    return [
      {
        key,
        runId,
        step,
        source,
        row,
        prompt,
        meanReward,
        samples: inOrder,
        rowWords: rowWords(first),
        place: first.position,
      },
    ]
  })
  return groups
    .sort((a, b) => b.step - a.step || a.source.localeCompare(b.source) || a.place - b.place)
    .map(({ place: _place, ...group }) => group)
}

/** Formats «row 154» as counted in Data; if that is no longer known, the number in the part that the run used. */
export const rowWords = ({ dataRow, row, source }: Pick<Sample, 'dataRow' | 'row' | 'source'>): string =>
  dataRow === null
    ? `${source === 'rollout' ? 'training' : 'validation'} row ${formatCount(row + 1)}`
    : `row ${formatCount(dataRow + 1)}`

/** Range from the lowest to the highest reward, always including 0, so that bars of different prompts compare. */
export function rewardRange(groups: readonly SampleGroup[]): readonly [number, number] {
  let [low, high] = [0, 0]
  for (const { samples } of groups) {
    for (const { reward } of samples) {
      low = Math.min(low, reward ?? 0)
      high = Math.max(high, reward ?? 0)
    }
  }
  return high > low ? [low, high] : [0, 1]
}

/** True if rewards were computed at all: demonstrations and preferences have none. */
export const isScored = ({ reward, parts }: Pick<Sample, 'reward' | 'parts'>): boolean =>
  reward !== null || Object.keys(parts).length > 0

/** Largest absolute advantage, so that colours mean the same for all members of a group. */
export const advantageReach = (samples: readonly Sample[]): number =>
  samples.reduce((most, { advantage }) => Math.max(most, Math.abs(advantage ?? 0)), 0)

/** Marks that templates put around the text of a chat. */
const marks = [
  /<\|im_start\|>\s*(?:system|user|assistant|tool)?\n?/g,
  /<\|start_header_id\|>\s*\w+\s*<\|end_header_id\|>/g,
  /<start_of_turn>\s*(?:user|model)?/g,
  /<\|[^|>\s]{1,40}\|>|<\/?s>|<(?:bos|eos|end_of_turn)>|\[\/?INST\]|<<\/?SYS>>/g,
]

/** Returns the text of a prompt without the marks of its chat template. */
export function promptWords(prompt: string): string {
  const words = marks
    .reduce((text, mark) => text.replace(mark, ' '), prompt)
    .replace(/\s+/g, ' ')
    .trim()
  return words === '' ? prompt.trim() : words
}

const leastShared = 24

/** Drops a common start, such as a long system prompt, so that entries of a list can be told apart. */
export function distinctWords(prompts: readonly string[]): readonly string[] {
  const words = prompts.map(promptWords)
  const [first, ...others] = words
  if (first === undefined || others.length === 0) return words
  if (others.every((other) => other === first)) return words
  let shared = others.reduce((length, other) => commonLength(first, other, length), first.length)
  while (shared > 0 && first[shared - 1] !== ' ') shared--
  if (shared < leastShared) return words
  return words.map((text) => `… ${text.slice(shared)}`)
}

function commonLength(a: string, b: string, most: number): number {
  let length = 0
  while (length < most && a[length] === b[length]) length++
  return length
}

const stops: Readonly<Record<Sample['stopReason'], string>> = {
  'stop-id': 'stopped (EOS)',
  'stop-string': 'stop string',
  length: 'length limit',
  truncated: 'truncated by the environment',
  'turn-limit': 'turn limit',
  'context-limit': 'context limit',
  failed: 'the environment failed',
}

/** True if a limit, or the environment, ended it. */
export const isTruncated = ({ stopReason }: Pick<Sample, 'stopReason'>): boolean =>
  !['stop-id', 'stop-string', 'failed'].includes(stopReason)

export const stopWords = (reason: Sample['stopReason']): string => stops[reason]

/** Number of steps by which the generating policy was older than the learning one. */
const stepsOlder = ({ source, step, version }: Pick<Sample, 'source' | 'step' | 'version'>): number =>
  source === 'evaluation' || version === null ? 0 : Math.max(0, step - 1 - version)

/** Formats «1 step older»; null for completions of the policy that learned from them. */
export function ageWords(sample: Pick<Sample, 'source' | 'step' | 'version'>): string | null {
  const age = stepsOlder(sample)
  return age === 0 ? null : `${plural(age, 'step')} older`
}

/** Names the generating policy, «step 0» being the initial one. */
export function policyWords(sample: Pick<Sample, 'source' | 'step' | 'version'>): string {
  const { source, step, version } = sample
  const learned = version ?? (source === 'evaluation' ? step : step - 1)
  const age = ageWords(sample)
  return `generated by the policy of step ${formatCount(learned)}${age === null ? '' : ` (${age})`}`
}

/** Formats a reward for lists: two decimals, aligned. */
export function rewardText(reward: number | null): string {
  if (reward === null) return 'none'
  return Math.abs(reward) < 100 ? reward.toFixed(2).replace('-', '−') : formatNumber(reward)
}

/** Returns the neighbour in a list; the first item if the current one is not in it. */
export function neighbour<Item>(items: readonly Item[], at: number, by: 1 | -1): Item | undefined {
  return at < 0 ? items[0] : items[at + by]
}

/** Returns the step to show: the requested one or the last before it with samples, else the newest. */
export function stepShown(steps: readonly number[], asked: number | null): number | null {
  if (asked === null) return steps.at(-1) ?? null
  return steps.findLast((step) => step <= asked) ?? steps[0] ?? null
}

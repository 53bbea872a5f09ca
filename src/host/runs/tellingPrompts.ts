/** Prompts that show what a run changed: validation rows which its base fails and it passes, and one that it still fails. */
import { promptContent } from '#rl/rollout/prompts.ts'
import type { SampleRecord } from '#host/store/samples.ts'
import type { DataStorage } from '#host/store/storage.ts'
import type { Store } from '#host/store/store.ts'
import { configOf, rowsOfRun } from './runRows.ts'

const shownPrompts = 2

/** Errors: as `rowsOfRun`. */
export async function tellingPrompts(
  host: DataStorage,
  runId: string,
): Promise<{ learned: string[]; failing: string | null }> {
  const run = host.store.runs.get(runId)
  const { learned, failing } = tellingRows(host.store, runId)
  const rowOf = await rowsOfRun(host, run)
  const textOf = (sample: SampleRecord): string[] => {
    const content = promptContent(rowOf(sample), sample.row, configOf(run).data.prompt)
    const [message, ...others] = typeof content === 'string' ? [] : content
    const isAlone = others.length === 0 && message?.role === 'user'
    return isAlone && typeof message.content === 'string' ? [message.content] : []
  }
  const texts = new Set(learned.flatMap(textOf))
  return {
    learned: [...texts].slice(0, shownPrompts),
    failing: (failing === null ? undefined : textOf(failing)[0]) ?? null,
  }
}

interface TellingRows {
  /** Best first. */
  readonly learned: readonly SampleRecord[]
  readonly failing: SampleRecord | null
}

type Pair = readonly [before: SampleRecord, after: SampleRecord]

/** Chooses among the samples of the first and the last evaluation; none where there were not two. */
function tellingRows(store: Store, runId: string): TellingRows {
  const steps = store.samples.steps(runId).flatMap((at) => (at.source === 'evaluation' ? [at.step] : []))
  const [first, last] = [Math.min(...steps), Math.max(...steps)]
  if (steps.length === 0 || first === last) return { learned: [], failing: null }
  const samplesAt = (step: number) => store.samples.list({ runId, step, source: 'evaluation' })
  const after = new Map(samplesAt(last).map((sample) => [sample.row, sample]))
  return chooseRows(
    samplesAt(first).flatMap((before): Pair[] => {
      const then = after.get(before.row)
      return then === undefined ? [] : [[before, then]]
    }),
  )
}

/**
 * An answer passes with the best reward of the last evaluation. A base's answer that holds the passing one was right in
 * other words, which is no gain that a reader would see.
 */
export function chooseRows(pairs: readonly Pair[]): TellingRows {
  const best = Math.max(...pairs.map(([, after]) => rewardOf(after)))
  const gain = ([before, after]: Pair) => rewardOf(after) - rewardOf(before)
  const learned = pairs
    .filter((pair) => rewardOf(pair[1]) === best && gain(pair) > 0 && !holds(...pair))
    .toSorted((a, b) => gain(b) - gain(a))
    .map(([, after]) => after)
  const failing = pairs.filter(([, after]) => rewardOf(after) < best)
  const [worst] = failing.toSorted(([, a], [, b]) => rewardOf(a) - rewardOf(b))
  return { learned, failing: worst?.[1] ?? null }
}

const rewardOf = ({ reward }: SampleRecord): number => reward ?? -Infinity

const holds = (before: SampleRecord, after: SampleRecord): boolean =>
  before.completion.toLowerCase().includes(after.completion.trim().toLowerCase())

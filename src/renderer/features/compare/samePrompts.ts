/** Prompts that several runs answered. */
import { distinctWords } from '#renderer/features/samples/groups.ts'

export interface AnsweredPrompt {
  readonly row: number
  readonly prompt: string
  /** How many of the runs have samples of it. */
  readonly runs: number
}

interface SampleLike {
  readonly row: number
  readonly prompt: string
  readonly source: 'rollout' | 'evaluation'
  readonly step: number
}

/** Rows are the same where their prompts are: other data, other rows. Those that most runs answered first. */
export function sharedPrompts(samples: readonly (readonly SampleLike[])[]): readonly AnsweredPrompt[] {
  const found = new Map<string, { row: number; prompt: string; runs: number }>()
  for (const own of samples) {
    const seen = new Set<string>()
    for (const { row, prompt } of own) {
      const key = `${String(row)}\n${prompt}`
      if (seen.has(key)) continue
      seen.add(key)
      const known = found.get(key)
      if (known) known.runs++
      else found.set(key, { row, prompt, runs: 1 })
    }
  }
  return [...found.values()].filter(({ runs }) => runs > 1).sort((a, b) => b.runs - a.runs || a.row - b.row)
}

/** The sample of the first or the last step; greedy ones of evaluations before sampled ones of the same step. */
export function sampleAt<Sample extends SampleLike>(
  samples: readonly Sample[],
  at: 'first' | 'last',
): Sample | undefined {
  const sign = at === 'last' ? -1 : 1
  return samples.toSorted(
    (a, b) =>
      sign * (a.step - b.step) || Number(b.source === 'evaluation') - Number(a.source === 'evaluation'),
  )[0]
}

/** Names of prompts in a list: from where they differ, without the marks of a chat template. */
export const promptLabels = (prompts: readonly string[]): readonly string[] =>
  distinctWords(prompts).map((text) => (text.length > 60 ? `${text.slice(0, 59)}…` : text))

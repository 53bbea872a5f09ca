import { shorten } from '#shared/plural.ts'
import type { Finding, Proposal } from '#shared/diagnosis.ts'
import { type DiagnosedRun, type DiagnosedSample, samplesSince, seriesOf, evidence } from '../diagnosedRun.ts'
import type { RewardFact } from '../facts.ts'
import { look, percent } from '../rule.ts'

const window = 10
const enoughSamples = 20
const tooManyEmpty = 0.9
const nothing = 0.02

/** Names of columns with complaints, which are empty where all is well. */
const complaints = /error|fail|issue|missing|problem|reason|warning/i
const formats = /format|json|pattern|regex|regular|schema|tag|template/i

/** Completions do not have the form that a reward function looks for: it finds nothing in them. */
export const formatMismatch = (run: DiagnosedRun): Finding[] => [
  ...emptyColumns(run),
  ...unearnedFormats(run),
]

export const isFormatReward = ({ name, function: id, weight }: RewardFact): boolean =>
  weight > 0 && (formats.test(name) || formats.test(id.replace(/^.*[\\/]/, '')))

/** Returns true if hardly a completion had the form over a whole window. */
export function earnsNothing(run: DiagnosedRun, { name }: RewardFact): boolean {
  const means = seriesOf(run, `rewards/${name}/mean`).slice(-window)
  return means.length === window && means.every(({ value }) => Math.abs(value) < nothing)
}

function unearnedFormats(run: DiagnosedRun): Finding[] {
  const unearned = run.facts.rewards.filter((reward) => isFormatReward(reward) && earnsNothing(run, reward))
  return unearned.map((reward) => ({
    id: 'format-mismatch',
    severity: 'warning',
    words: `Hardly any completion has the form that the reward function “${reward.name}” expects, so there is nothing to reinforce.`,
    evidence: [
      evidence(`rewards/${reward.name}/mean`, seriesOf(run, `rewards/${reward.name}/mean`).slice(-window)),
    ],
    proposals: [besideThePattern(run, reward)],
  }))
}

/** Finds logged columns that stay empty: what functions log as found in the completion. */
function emptyColumns(run: DiagnosedRun): Finding[] {
  const newest = run.samples.reduce((step, sample) => Math.max(step, sample.step), 0)
  const samples = latestWith(run, newest)
  const columns = [...new Set(samples.flatMap(({ logged }) => Object.keys(logged ?? {})))]
  return columns
    .filter((column) => !complaints.test(column))
    .flatMap((column) => emptyColumn(run, column, samples))
}

/** Returns the samples of the last steps, enough of them that a column can be judged. */
function latestWith(run: DiagnosedRun, newest: number): readonly DiagnosedSample[] {
  const steps = [...new Set(run.samples.map(({ step }) => step))].sort((a, b) => b - a)
  const from = steps.find((step) => samplesSince(run, step).length >= enoughSamples) ?? newest + 1
  return samplesSince(run, Math.min(from, newest - window + 1))
}

function emptyColumn(run: DiagnosedRun, column: string, samples: readonly DiagnosedSample[]): Finding[] {
  const having = samples.filter(({ logged }) => logged !== undefined && column in logged)
  const share = having.filter(({ logged }) => isEmpty(logged?.[column])).length / having.length
  if (having.length < enoughSamples || share <= tooManyEmpty) return []
  const steps = having.map(({ step }) => step)
  const reward = run.facts.rewards.find(({ pattern }) => pattern !== null) ?? null
  return [
    {
      id: 'format-mismatch',
      severity: 'warning',
      words: `Reward code finds nothing in ${percent(share)} of the completions: its logged “${column}” is empty. Prompt and code expect different forms.`,
      evidence: [
        {
          of: `share of ${having.length} samples with an empty “${column}”`,
          value: share,
          fromStep: Math.min(...steps),
          toStep: Math.max(...steps),
        },
      ],
      proposals: [besideThePattern(run, reward)],
    },
  ]
}

const isEmpty = (value: unknown): boolean =>
  value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0)

/** Proposes to look at the prompt beside the pattern, with an example where there is one. */
function besideThePattern(run: DiagnosedRun, reward: RewardFact | null): Proposal {
  const sample = run.samples.reduce<DiagnosedSample | null>(
    (latest, each) => (latest === null || each.step > latest.step ? each : latest),
    null,
  )
  const sought =
    reward?.pattern === undefined || reward.pattern === null
      ? ''
      : ` “${reward.name}” looks for ${shorten(reward.pattern)}.`
  const example = sample === null ? '' : ` A completion: “${shorten(sample.completion)}”.`
  const words = `Ask for that form in the prompt, or have the code accept the form that completions have. The prompt is made from “${shorten(run.facts.promptForm)}”.${sought}${example}`
  const step = sample?.step ?? 0
  return reward === null
    ? look(words, { kind: 'samples', fromStep: step, toStep: step })
    : look(words, { kind: 'reward', name: reward.name })
}

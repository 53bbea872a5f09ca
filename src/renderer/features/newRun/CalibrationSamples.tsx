import type { Calibration } from './useDraft.ts'
import { formatCount, formatNumber, plural } from '#renderer/client/format.ts'
import { Badge } from '#renderer/kit/Badge.tsx'

type Sample = Calibration['samples'][number]

interface Group {
  readonly stage: number
  readonly prompt: string
  readonly samples: readonly Sample[]
}

function groupsOf(samples: readonly Sample[]): Group[] {
  const groups = new Map<string, Sample[]>()
  for (const sample of samples) {
    const key = `${String(sample.stage)} ${sample.prompt}`
    groups.set(key, [...(groups.get(key) ?? []), sample])
  }
  return [...groups.values()].map((own) => ({
    stage: own[0]?.stage ?? 0,
    prompt: own[0]?.prompt ?? '',
    samples: own,
  }))
}

/** The first completions and what they earned. */
export function CalibrationSamples({ result }: { result: Calibration }) {
  const groups = groupsOf(result.samples)
  const hasStages = groups.some(({ stage }) => stage > 0)
  return (
    <div className="grid gap-4">
      {groups.map(({ stage, prompt, samples }) => (
        <figure key={`${String(stage)} ${prompt}`} className="rounded border border-line">
          <figcaption className="flex flex-wrap items-baseline gap-x-3 border-b border-line bg-panel px-3 py-2">
            <span className="font-medium">
              {hasStages && `Stage ${String(stage + 1)}: `}
              {samples.every(({ reward }) => reward === null) ? 'What it learns from' : 'First completions'}
            </span>
            <span className="text-sm text-faint">
              row {formatCount((samples[0]?.row ?? 0) + 1)} of the data ·{' '}
              {plural(result.longest.promptTokens, 'token')} of prompt, the longest there is
            </span>
            <pre
              dir="auto"
              className="max-h-32 w-full overflow-auto pt-1 font-mono text-sm whitespace-pre-wrap text-muted"
              tabIndex={0}
            >
              {prompt}
            </pre>
          </figcaption>
          <ul className="divide-y divide-line">
            {samples.map((sample, i) => (
              <SampleRow key={String(i)} sample={sample} />
            ))}
          </ul>
        </figure>
      ))}
    </div>
  )
}

/** One part alone is the reward. */
const partsOf = (parts: Sample['parts']) => {
  const entries = Object.entries(parts)
  return entries.length > 1 ? entries : []
}

function SampleRow({ sample }: { sample: Sample }) {
  const { completion, reward, parts, tokens, stopReason, failures } = sample
  return (
    <li className="grid grid-cols-[64px_minmax(0,1fr)_max-content] items-start gap-3 px-3 py-2">
      <span className="font-mono text-sm font-medium tabular-nums">
        {reward !== null && (
          <>
            <span className="sr-only">Reward </span>
            {formatNumber(reward)}
          </>
        )}
      </span>
      <span className="min-w-0">
        <span
          dir="auto"
          className="block max-h-24 overflow-auto font-mono text-sm break-words whitespace-pre-wrap"
        >
          {completion === '' ? <span className="text-faint">(empty)</span> : completion}
        </span>
        {failures.map((sentence) => (
          <span key={sentence} className="block text-sm text-bad">
            {sentence}
          </span>
        ))}
      </span>
      <span className="flex max-w-80 flex-wrap items-center justify-end gap-x-3 text-xs text-faint tabular-nums">
        <span>
          {partsOf(parts)
            .map(([name, value]) => `${name} ${formatNumber(value)}`)
            .join(' · ')}
        </span>
        <span className="flex gap-2">
          {plural(tokens, 'token')}
          {stopReason === 'length' && <Badge tone="caution">truncated</Badge>}
        </span>
      </span>
    </li>
  )
}

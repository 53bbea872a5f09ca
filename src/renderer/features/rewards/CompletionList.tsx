import { useMemo, useState } from 'react'
import { unpackFloats, unpackInts } from '#shared/packedArray.ts'
import { formatNumber, plural } from '#renderer/client/format.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { heatScale } from '#renderer/parts/heat.ts'
import { TokenHeatMap } from '#renderer/parts/TokenHeatMap.tsx'
import type { TokenRow } from '#renderer/parts/tokenRows.ts'
import type { EpisodeCompletion } from './episode.ts'

const shownAtFirst = 8

/** Completions of the policy, with tokens coloured by probability. */
export function CompletionList({ completions }: { completions: readonly EpisodeCompletion[] }) {
  const [isWhole, setWhole] = useState(false)
  const shown = isWhole ? completions : completions.slice(0, shownAtFirst)
  return (
    <ol aria-label="Completions" className="flex flex-col gap-2">
      {shown.map((completion, i) => (
        <li key={i} className="rounded bg-accent-soft px-2 pt-1">
          <CompletionTokens completion={completion} />
        </li>
      ))}
      {shown.length < completions.length && (
        <li>
          <Button small onClick={() => setWhole(true)}>
            Show all {completions.length}
          </Button>
        </li>
      )}
    </ol>
  )
}

const finishWords = {
  stop: 'ended by itself',
  length: 'truncated at the limit',
  context: 'no room: the prompt fills the context',
} as const

function CompletionTokens({ completion }: { completion: EpisodeCompletion }) {
  const { finishReason, logprobs } = completion
  const rows = useMemo(() => rowsOf(completion), [completion])
  const scale = useMemo(() => heatScale('probability', rows), [rows])
  if (rows.length === 0) return <p className="pb-1 text-sm text-muted">{finishWords[finishReason]}</p>
  const sum = unpackFloats(logprobs).reduce((total, each) => total + each, 0)
  const about = `${plural(rows.length, 'token')} · ${finishWords[finishReason]} · log-probability ${formatNumber(sum)}`
  return <TokenHeatMap rows={rows} scale={scale} about={about} />
}

function rowsOf({ tokens: { ids, texts }, logprobs }: EpisodeCompletion): TokenRow[] {
  const nats = unpackFloats(logprobs)
  const unknown = { advantage: null, reward: null, ratio: null, kl: null, entropy: null }
  return Array.from(unpackInts(ids), (id, index) => ({
    index,
    id,
    text: texts[index] ?? '',
    isAction: true,
    action: 1,
    ...unknown,
    probability: Math.exp(nats[index] ?? NaN),
  }))
}

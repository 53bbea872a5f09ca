import { judgeFunction } from '#shared/config/judge.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { formatNumber } from '#renderer/client/format.ts'
import { rewardName } from '#renderer/parts/runFacts.ts'
import type { Sample } from '#renderer/parts/groups.ts'

interface Judged {
  readonly name: string
  readonly answer: string
  /** Score on the judge's own scale; null: it gave none. */
  readonly score: number | null
}

/** Returns judges' answers on a completion, and other logged values. */
export function judgedIn(
  { logged }: Pick<Sample, 'logged'>,
  config: Pick<RunConfig, 'rewards'> | null,
): { readonly judged: readonly Judged[]; readonly others: Readonly<Record<string, unknown>> } {
  const names = (config?.rewards ?? []).filter(({ function: id }) => id === judgeFunction).map(rewardName)
  const judged = names.flatMap((name) => {
    const answer = logged[`${name}.answer`]
    const score = logged[`${name}.score`]
    return typeof answer === 'string'
      ? [{ name, answer, score: typeof score === 'number' ? score : null }]
      : []
  })
  const own = new Set(judged.flatMap(({ name }) => [`${name}.answer`, `${name}.score`]))
  return { judged, others: Object.fromEntries(Object.entries(logged).filter(([key]) => !own.has(key))) }
}

export const JudgeAnswers = ({ judged }: { readonly judged: readonly Judged[] }) => (
  <ul className="flex flex-col gap-3">
    {judged.map(({ name, answer, score }) => (
      <li key={name}>
        <p className="flex flex-wrap gap-x-3 text-sm text-muted">
          <span className="min-w-0 truncate">{name}</span>
          <span>
            {score === null ? (
              'gave no score'
            ) : (
              <>
                score <span className="font-mono text-text">{formatNumber(score)}</span>
              </>
            )}
          </span>
        </p>
        <blockquote
          dir="auto"
          className="mt-1 border-l-2 border-line pl-3 font-mono text-sm break-words whitespace-pre-wrap"
        >
          {answer === '' ? <span className="font-sans text-faint">(empty)</span> : answer}
        </blockquote>
      </li>
    ))}
  </ul>
)

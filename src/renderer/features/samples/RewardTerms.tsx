import { TriangleAlert } from 'lucide-react'
import { formatNumber } from '#renderer/client/format.ts'
import type { Sample } from './groups.ts'
import { rewardTerms } from './scoring.ts'

interface Props {
  readonly sample: Pick<Sample, 'reward' | 'parts' | 'failures'>
  readonly weights: ReadonlyMap<string, number>
}

/** The sum that the reward is, term by term, and what went wrong in it. */
export function RewardTerms({ sample: { reward, parts, failures }, weights }: Props) {
  const terms = rewardTerms(parts, weights)
  return (
    <>
      <table className="text-left tabular-nums">
        <thead className="sr-only">
          <tr>
            <th>Function</th>
            <th>Value</th>
            <th>Weight</th>
            <th>Share</th>
          </tr>
        </thead>
        <tbody>
          {terms.map(({ name, value, weight, share }) => (
            <tr key={name}>
              <th scope="row" className="h-6 max-w-64 min-w-28 truncate pr-6 font-normal">
                {name}
              </th>
              <td className="pr-2 text-right font-mono text-sm">
                {value === null ? 'none' : formatNumber(value)}
              </td>
              <td className="pr-6 font-mono text-sm text-muted">
                {weight === null ? '' : `× ${formatNumber(weight)}`}
              </td>
              <td className="text-right font-mono text-sm">{share === null ? '' : formatNumber(share)}</td>
            </tr>
          ))}
          <tr className="border-t border-line font-medium">
            <th scope="row" className="h-6 pr-4 font-medium">
              Reward
            </th>
            <td colSpan={3} className="text-right font-mono text-sm">
              {reward === null ? 'none' : formatNumber(reward)}
            </td>
          </tr>
        </tbody>
      </table>
      {failures.length > 0 && (
        <ul className="mt-2 flex flex-col gap-1">
          {failures.map((failure, i) => (
            <li key={`${String(i)} ${failure}`} className="flex gap-2 text-sm text-caution">
              <TriangleAlert size={13} aria-hidden className="mt-0.5 shrink-0" />
              <span className="min-w-0 break-words">{failure}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

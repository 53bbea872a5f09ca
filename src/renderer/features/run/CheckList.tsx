import { Check as CheckMark, TriangleAlert } from 'lucide-react'
import type { Check } from '#shared/diagnosis.ts'
import { findDeclaration } from '#shared/metrics.ts'
import { Help } from '#renderer/kit/Help.tsx'
import { checkFigure } from './diagnosisWords.ts'

/** What was looked at, with its figure and when that would be a warning. */
export const CheckList = ({ checks }: { checks: readonly Check[] }) => (
  <section className="rounded border border-line bg-bg">
    <h2 className="border-b border-line px-4 py-2 text-sm font-medium text-muted">What was checked</h2>
    <table aria-label="Checks" className="w-full text-sm">
      <thead className="border-b border-line text-left text-muted">
        <tr className="[&>th]:py-1.5 [&>th]:font-medium">
          <th scope="col" className="pl-4">
            Check
          </th>
          <th scope="col" className="px-3 text-right">
            Figure
          </th>
          <th scope="col" className="pl-3">
            Warns when
          </th>
        </tr>
      </thead>
      <tbody>
        {checks.map((check) => (
          <CheckRow key={check.title} check={check} />
        ))}
      </tbody>
    </table>
  </section>
)

function CheckRow({ check }: { check: Check }) {
  const { title, metric, limit, isWithin } = check
  const explanation = metric === null ? undefined : findDeclaration(metric)?.explanation
  return (
    <tr className="border-line not-first:border-t">
      <th scope="row" className="py-1.5 pr-3 pl-4 text-left font-normal">
        <span className="flex items-center gap-2">
          {isWithin ? (
            <CheckMark size={14} aria-label="Within its limit" className="shrink-0 text-good" />
          ) : (
            <TriangleAlert size={14} aria-label="Beyond its limit" className="shrink-0 text-caution" />
          )}
          <span title={metric ?? undefined}>{title}</span>
          {explanation !== undefined && <Help about={title}>{explanation}</Help>}
        </span>
      </th>
      <td className="px-3 text-right font-mono tabular-nums">{checkFigure(check)}</td>
      <td className="py-1.5 pr-4 pl-3 text-faint">{limit}</td>
    </tr>
  )
}

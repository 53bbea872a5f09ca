import { useChoiceTitle } from '#renderer/client/modelChoice.ts'
import { plural, formatPercent } from '#renderer/client/format.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { Panel } from '#renderer/kit/Page.tsx'
import { readChoice, standings, type Vote } from '#renderer/parts/candidates.ts'

/** Win rates with their confidence intervals. */
export function Standings({ votes, onClear }: { votes: readonly Vote[]; onClear: () => void }) {
  const titleOf = useChoiceTitle()
  const rows = standings(votes)
  if (rows.length === 0) return null
  const blind = votes.filter(({ isBlind }) => isBlind).length
  const title = (candidate: string) => {
    const choice = readChoice(candidate)
    return choice === null ? candidate : titleOf(choice)
  }
  return (
    <Panel
      title="Win rate"
      isFlush
      actions={
        <>
          <span className="text-sm text-muted">{plural(blind, 'blind vote')}</span>
          <Button small variant="quiet" onClick={onClear}>
            Clear votes
          </Button>
        </>
      }
    >
      <table className="w-full">
        <thead>
          <tr className="h-8 border-b border-line text-left text-sm text-muted [&>th]:px-3 [&>th]:font-medium">
            <th>Candidate</th>
            <th className="text-right">Wins</th>
            <th className="text-right">Ties</th>
            <th className="text-right">Losses</th>
            <th className="text-right">Win rate</th>
            <th className="w-60">95 % interval</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <StandingRow key={row.candidate} title={title(row.candidate)} {...row} />
          ))}
        </tbody>
      </table>
    </Panel>
  )
}

type StandingRowProps = ReturnType<typeof standings>[number] & { readonly title: string }

function StandingRow({ title, wins, ties, losses, winRate, interval: { low, high } }: StandingRowProps) {
  return (
    <tr className="h-9 border-b border-line tabular-nums last:border-b-0 [&>td]:px-3">
      <td className="truncate">{title}</td>
      <td className="text-right font-mono text-sm">{wins}</td>
      <td className="text-right font-mono text-sm">{ties}</td>
      <td className="text-right font-mono text-sm">{losses}</td>
      <td className="text-right font-mono text-sm font-medium">{formatPercent(winRate)}</td>
      <td>
        <span className="flex items-center gap-2 text-sm text-muted">
          <span aria-hidden className="relative h-1.5 w-24 shrink-0 rounded-full bg-raised">
            <span
              className="absolute inset-y-0 rounded-full bg-accent"
              style={{ left: `${String(low * 100)}%`, right: `${String(100 - high * 100)}%` }}
            />
          </span>
          {formatPercent(low)} to {formatPercent(high)}
        </span>
      </td>
    </tr>
  )
}

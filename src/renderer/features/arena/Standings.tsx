import { formatPercent, plural } from '#renderer/client/format.ts'
import { useAnswer } from '#renderer/client/api.tsx'
import { useRuns } from '#renderer/client/runs.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { Panel } from '#renderer/kit/Panel.tsx'
import { choiceTitle } from '#renderer/client/modelChoice.ts'
import { readChoice } from './contenders.ts'
import { standings, type Vote } from './votes.ts'

/** Who wins how often, and how sure that is. */
export function Standings({ votes, onClear }: { votes: readonly Vote[]; onClear: () => void }) {
  const { data: models = [] } = useAnswer('models.list', undefined)
  const { runs } = useRuns()
  const rows = standings(votes)
  if (rows.length === 0) return null
  const blind = votes.filter(({ isBlind }) => isBlind).length
  const title = (contender: string) => {
    const choice = readChoice(contender)
    return choice === null ? contender : choiceTitle(choice, models, runs)
  }
  return (
    <Panel
      title="Win rate"
      isFlush
      actions={
        <>
          <span className="text-sm text-muted">{plural(blind, 'blind vote')}</span>
          <Button small variant="quiet" onClick={onClear}>
            Forget all votes
          </Button>
        </>
      }
    >
      <table className="w-full">
        <thead>
          <tr className="h-8 border-b border-line text-left text-sm text-muted [&>th]:px-3 [&>th]:font-medium">
            <th>Contender</th>
            <th className="text-right">Wins</th>
            <th className="text-right">Ties</th>
            <th className="text-right">Losses</th>
            <th className="text-right">Win rate</th>
            <th className="w-60">95 % interval</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ contender, wins, ties, losses, winRate, interval: [low, high] }) => (
            <tr key={contender} className="h-9 border-b border-line tabular-nums last:border-b-0 [&>td]:px-3">
              <td className="truncate">{title(contender)}</td>
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
          ))}
        </tbody>
      </table>
    </Panel>
  )
}

import { CircleAlert, CircleCheck, CircleDashed } from 'lucide-react'
import { classes } from '#renderer/kit/classes.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { EmptyState, Loading } from '#renderer/kit/states.tsx'
import { lossCheckNames, lossCheckWords, type LossCheckName } from '#shared/losses.ts'
import { failureWords } from './results.ts'
import type { LossCheck } from './useLoss.ts'

interface ChecksTabProps {
  readonly check: LossCheck | undefined
  readonly onGoTo: (line: number) => void
}

/** Checks that a loss must pass before a run learns with it. */
export function ChecksTab({ check, onGoTo }: ChecksTabProps) {
  if (check === undefined) return <Loading label="Checking" />
  const { problem, checks, batch } = check
  if (problem !== null) {
    const { line } = problem
    return (
      <EmptyState
        icon={CircleAlert}
        iconSize={24}
        title={check.description === null ? 'The code does not load.' : 'The loss cannot be traced.'}
        action={line !== null && <Button onClick={() => onGoTo(line)}>Go to line {line}</Button>}
      >
        {failureWords(problem)}
      </EmptyState>
    )
  }
  const byName = new Map(checks.map((each) => [each.name, each]))
  return (
    <div className="h-full overflow-auto">
      <ul aria-label="Checks">
        {lossCheckNames.map((name) => (
          <Check key={name} name={name} found={byName.get(name)} batch={batch} />
        ))}
      </ul>
      <p className="px-4 py-3 text-xs text-faint text-pretty">
        Checked with the settings on the right, on {batch.length} synthetic sequences of different lengths and
        turns. A run checks again on its first batch.
      </p>
    </div>
  )
}

interface CheckProps {
  readonly name: LossCheckName
  /** Undefined if an earlier failure prevented the check. */
  readonly found: LossCheck['checks'][number] | undefined
  readonly batch: LossCheck['batch']
}

function Check({ name, found, batch }: CheckProps) {
  const fault = found?.fault ?? null
  const isBad = fault !== null
  const Icon = isBad ? CircleAlert : found === undefined ? CircleDashed : CircleCheck
  const color = isBad ? 'text-bad' : found === undefined ? 'text-faint' : 'text-good'
  const state = isBad ? 'fails' : found === undefined ? 'not reached' : 'passes'
  return (
    <li
      className={classes(
        'grid grid-cols-[16px_8.5rem_minmax(0,1fr)] gap-x-2 border-b border-line px-4 py-1.5 narrow:grid-cols-[16px_minmax(0,1fr)]',
        isBad && 'bg-bad-soft',
      )}
    >
      <Icon size={15} role="img" aria-label={state} className={classes('mt-0.5 shrink-0', color)} />
      <code className={classes('font-mono text-sm leading-5', isBad && 'font-medium')}>{name}</code>
      <div className="min-w-0 narrow:col-start-2">
        <p className={isBad ? 'text-text text-pretty' : 'text-muted'}>
          {fault?.message ?? lossCheckWords[name]}
          {found === undefined && <span className="text-faint"> · skipped: an earlier check failed</span>}
        </p>
        {fault?.token != null && <Sequence token={fault.token} batch={batch} />}
      </div>
    </li>
  )
}

interface SequenceProps {
  readonly token: { readonly row: number; readonly place: number }
  readonly batch: LossCheck['batch']
}

/** Shows the failing sequence by token, with the one at fault marked. */
function Sequence({ token: { row, place }, batch }: SequenceProps) {
  const { turns, advantages } = batch[row] ?? { turns: [], advantages: [] }
  return (
    <p className="mt-1 mb-0.5 flex flex-wrap items-center gap-x-2 gap-y-1 text-xs text-muted">
      Sequence {row + 1}
      <span className="flex" aria-hidden>
        {turns.map((turn, t) => (
          <span
            // Tokens are identified by position only.
            key={t}
            title={turn < 0 ? 'not chosen by the policy' : `turn ${String(turn + 1)}`}
            className={classes(
              'mr-px block h-4 w-3 rounded-xs',
              turn < 0
                ? 'border border-line-strong'
                : (advantages[t] ?? 0) >= 0
                  ? 'bg-[color-mix(in_srgb,var(--run-1)_55%,var(--bg))]'
                  : 'bg-[color-mix(in_srgb,var(--run-2)_55%,var(--bg))]',
              t === place && 'outline-2 outline-offset-1 outline-bad',
            )}
          />
        ))}
      </span>
      <span className="text-faint">
        {(advantages[place] ?? 0) >= 0 ? 'positive' : 'negative'} advantage; hollow tokens were not chosen by
        the policy
      </span>
    </p>
  )
}

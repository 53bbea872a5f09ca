import { ChevronDown, ChevronRight, CircleCheck, CircleX, ShieldQuestion } from 'lucide-react'
import { useState } from 'react'
import { formatNumber, plural } from '#renderer/client/format.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { Select } from '#renderer/kit/choices.tsx'
import { EmptyState, ErrorNote } from '#renderer/kit/states.tsx'
import type { BatteryReport } from '#renderer/parts/rewardTypes.ts'
import type { Battery } from './useTrials.ts'

interface BatteryTabProps {
  readonly battery: Battery
  /** Columns that may hold a good completion; '' is none. */
  readonly honestColumns: readonly string[]
}

const titles: Readonly<Record<string, string>> = {
  empty: 'Empty completion',
  echo: 'The prompt again',
  repetition: 'One word, over and over',
  leak: 'Every answer at once',
  format: 'The form without an answer',
  'think-only': 'Empty think and answer tags',
  'empty-json': 'An empty JSON object',
  long: 'A long text about nothing',
}

/** Reward-hacking tests: attempts to earn the reward without solving anything, listed like tests. */
export function BatteryTab({ battery, honestColumns }: BatteryTabProps) {
  const { report, missing, honest, setHonest, isStale } = battery
  const button = (
    <Button small disabled={battery.isRunning || missing !== null} onClick={battery.run}>
      {battery.isRunning ? 'Running…' : 'Run tests'}
    </Button>
  )
  if (report === null && battery.error === null) {
    return (
      <EmptyState
        icon={ShieldQuestion}
        iconSize={24}
        title="Find what a lazy policy would find."
        action={button}
      >
        {missing ??
          'Empty texts, echoes, repetition and empty forms are scored on the rows on the right. Whatever earns reward here is what a policy learns first.'}
      </EmptyState>
    )
  }
  const failed = report?.cheats.filter(({ passed }) => !passed).length ?? 0
  return (
    <div className="flex h-full min-h-0 flex-col">
      <div className="flex h-9 shrink-0 items-center gap-3 border-b border-line px-4 text-sm text-muted">
        {button}
        <label className="flex items-center gap-1">
          Honest completions
          <Select
            small
            aria-label="Column with honest completions"
            value={honest}
            options={[
              { value: '', label: 'none: count as 1' },
              ...honestColumns.map((name) => ({ value: name, label: `column ${name}` })),
            ]}
            onChange={setHonest}
          />
        </label>
        {report !== null && (
          <span role="status" className={failed === 0 ? 'text-good' : 'text-bad'}>
            {failed === 0
              ? 'No exploit found'
              : `${plural(failed, 'exploit')} found by ${String(report.cheats.length)} tests`}
          </span>
        )}
        {isStale && <span className="ml-auto text-caution">The code has changed since</span>}
      </div>
      {battery.error !== null && <ErrorNote error={battery.error} className="m-3 shrink-0" />}
      {report !== null && (
        <ul className="min-h-0 grow overflow-auto" aria-label="Reward-hacking tests">
          {report.cheats.map((cheat) => (
            <CheatLine key={cheat.id} cheat={cheat} />
          ))}
        </ul>
      )}
    </div>
  )
}

function CheatLine({
  cheat: { id, mean, passed, sentence, example },
}: {
  cheat: BatteryReport['cheats'][number]
}) {
  const [isOpen, setOpen] = useState(false)
  const Arrow = isOpen ? ChevronDown : ChevronRight
  return (
    <li className="border-b border-line">
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
        className="grid h-8 w-full grid-cols-[16px_14px_minmax(150px,240px)_72px_minmax(0,1fr)] items-center gap-2 px-4 text-left -outline-offset-2 hover:bg-panel"
      >
        {passed ? (
          <CircleCheck size={14} role="img" aria-label="Passed" className="text-good" />
        ) : (
          <CircleX size={14} role="img" aria-label="Failed" className="text-bad" />
        )}
        <Arrow size={13} aria-hidden className="text-faint" />
        <span className="truncate font-medium">{titles[id] ?? id}</span>
        <span className="text-right font-mono text-sm tabular-nums">
          {mean === null ? 'null' : formatNumber(mean)}
        </span>
        <span className={passed ? 'truncate pl-2 text-muted' : 'truncate pl-2 text-bad'}>{sentence}</span>
      </button>
      {isOpen && (
        <pre
          dir="auto"
          className="mx-4 mb-2 max-h-40 overflow-auto rounded bg-panel p-2 font-mono text-sm break-words whitespace-pre-wrap"
          tabIndex={0}
        >
          {example === '' ? '(nothing)' : example}
        </pre>
      )}
    </li>
  )
}

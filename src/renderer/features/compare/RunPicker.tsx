import { useState } from 'react'
import { formatReward } from '#renderer/client/format.ts'
import { useRuns, useRunStyles } from '#renderer/client/runs.ts'
import { runTitle } from '#renderer/client/words.ts'
import { Checkbox } from '#renderer/kit/choices.tsx'
import { SearchInput } from '#renderer/kit/inputs.tsx'
import { LineMark } from '#renderer/charts/LineMark.tsx'
import { filterRuns, noFilter, searchHint } from '#renderer/features/runs/filter.ts'
import { maxRuns } from './state.ts'

interface RunPickerProps {
  readonly chosen: readonly string[]
  readonly onChange: (runIds: readonly string[]) => void
}

const maxShown = 100

/** Every run of the history, to be chosen from. */
export function RunPicker({ chosen, onChange }: RunPickerProps) {
  const { runs } = useRuns()
  const styleOf = useRunStyles()
  const [text, setText] = useState('')
  const found = filterRuns(runs, { ...noFilter, text })
  const toggle = (runId: string) =>
    onChange(
      chosen.includes(runId) ? chosen.filter((id) => id !== runId) : [...chosen, runId].slice(0, maxRuns),
    )
  return (
    <div className="flex min-h-0 flex-col gap-2">
      <SearchInput label="Find runs" placeholder={searchHint} value={text} onChange={setText} />
      <ul className="max-h-80 min-h-0 overflow-auto">
        {found.slice(0, maxShown).map((run) => (
          <li key={run.id} className="flex items-center gap-2 rounded-sm px-1 hover:bg-panel">
            <Checkbox
              aria-label={`Compare ${runTitle(run)}`}
              checked={chosen.includes(run.id)}
              onChange={() => toggle(run.id)}
            />
            <LineMark {...styleOf(run.id)} />
            <button
              type="button"
              tabIndex={-1}
              className="flex h-7 min-w-0 grow items-center gap-2 text-left"
              onClick={() => toggle(run.id)}
            >
              <span className="min-w-0 grow truncate">{runTitle(run)}</span>
              <span className="shrink-0 text-sm text-faint">{run.algorithm}</span>
              <span className="w-12 shrink-0 text-right font-mono text-sm tabular-nums">
                {formatReward(run.rewardAfter ?? run.reward)}
              </span>
            </button>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p className="text-sm text-faint">No run fits.</p>}
      {found.length > maxShown && (
        <p className="text-sm text-faint">and {found.length - maxShown} more: narrow the search</p>
      )}
    </div>
  )
}

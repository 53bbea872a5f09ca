import { ChevronLeft, ChevronRight } from 'lucide-react'
import { formatCount } from '#renderer/client/format.ts'
import { link } from '#renderer/client/route.ts'
import { ModelPicker } from '#renderer/parts/ModelPicker.tsx'
import { IconButton } from '#renderer/kit/Button.tsx'
import { Segmented, SelectField } from '#renderer/kit/choices.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { NumberInput, AreaField, NumberField } from '#renderer/kit/inputs.tsx'
import { Help } from '#renderer/kit/Tooltip.tsx'
import { cellText, columnNames, parseRow } from './bench.ts'
import { EnvironmentPicker } from './CodePicker.tsx'
import { RewardPicker } from './RewardPicker.tsx'
import { dataSetOptions } from './RowsPane.tsx'
import { PromptSource } from './SampleSource.tsx'
import { SettingsFields } from './SettingsFields.tsx'
import type { WorkflowTrial } from './useWorkflow.ts'

/** Setup of an episode: model, row, rewards, and sampling. */
export function TrialPane({ trial }: { trial: WorkflowTrial }) {
  const { choice, candidate, change, bench, settings } = trial
  const columns = columnNames(bench.version)
  return (
    <section aria-label="Trial" className="flex min-h-0 min-w-0 grow flex-col gap-4 overflow-auto p-3">
      <Field label="Model">
        {(ids) => (
          <ModelPicker
            {...ids}
            withCheckpoints
            value={candidate}
            onChange={(next) => change({ candidate: next })}
          />
        )}
      </Field>
      <RowFields bench={bench} />
      {Object.keys(settings.known).length > 0 && (
        <section aria-label="Settings" className="flex flex-col gap-1">
          <h2 className="flex items-center text-sm font-medium text-muted">
            Settings
            <Help about="settings">
              The code declares them with their defaults. Changes here apply to episodes that are tried; a run
              sets its own.
            </Help>
          </h2>
          <SettingsFields
            known={settings.known}
            values={settings.values}
            onChange={settings.setValues}
            columns={columns}
          />
        </section>
      )}
      <div className="flex flex-col gap-1">
        <span className="text-sm font-medium text-muted">Rewards that tools.rewards asks</span>
        <RewardPicker value={choice.rewards} columns={columns} onChange={(rewards) => change({ rewards })} />
      </div>
      <EnvironmentPicker
        value={choice.environment}
        columns={columns}
        onChange={(environment) => change({ environment })}
      />
      <SamplingFields trial={trial} />
    </section>
  )
}

const byHand = 'by-hand'

interface RowNumberProps {
  /** Number, from 0. */
  readonly row: number
  readonly total: number
  readonly onGo: (row: number) => void
}

const RowNumber = ({ row, total, onGo }: RowNumberProps) => (
  <Field label={`Row of ${formatCount(total)}`}>
    {(ids) => (
      <span className="flex items-center gap-1">
        <IconButton
          small
          label="Row before"
          icon={ChevronLeft}
          iconSize={14}
          disabled={row === 0}
          onClick={() => onGo(row - 1)}
        />
        <span className="w-16">
          <NumberInput
            {...ids}
            value={row + 1}
            onChange={(next) => next !== null && onGo(Math.round(next) - 1)}
          />
        </span>
        <IconButton
          small
          label="Row after"
          icon={ChevronRight}
          iconSize={14}
          disabled={row + 1 >= total}
          onClick={() => onGo(row + 1)}
        />
      </span>
    )}
  </Field>
)

function RowFields({ bench: own }: { bench: WorkflowTrial['bench'] }) {
  const { bench, change, dataSets, version } = own
  const options = dataSetOptions(dataSets)
  const total = version?.rows ?? 0
  const go = (row: number) => change({ from: Math.min(total - 1, Math.max(0, row)) })
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap items-end gap-2">
        <SelectField
          label="Data set"
          className="min-w-32 grow"
          value={bench.versionId ?? byHand}
          options={[...options, { value: byHand, label: 'A row by hand' }]}
          onChange={(id) => change({ versionId: id === byHand ? null : id, from: 0, prompt: null })}
        />
        {bench.versionId !== null && <RowNumber row={bench.from} total={total} onGo={go} />}
      </div>
      {bench.versionId === null ? <HandRow own={own} hasData={options.length > 0} /> : <ShownRow own={own} />}
      <PromptSource
        bench={bench}
        columns={version?.columns ?? []}
        onChange={(prompt) => change({ prompt })}
      />
    </div>
  )
}

interface RowProps {
  readonly own: WorkflowTrial['bench']
}

function HandRow({ own: { hand, setHand }, hasData }: RowProps & { readonly hasData: boolean }) {
  return (
    <>
      <AreaField
        label="Row"
        help="Columns of the data set as JSON; code sees them as row."
        error={parseRow(hand.row) === null ? 'This is not a JSON object.' : null}
        mono
        rows={3}
        placeholder='{"prompt": "What is 2 plus 3?", "answer": "5"}'
        value={hand.row}
        onChange={(row) => setHand({ ...hand, row })}
      />
      {!hasData && (
        <a className="self-start text-sm text-accent-ink underline" href={link('/data')}>
          Add data
        </a>
      )}
    </>
  )
}

function ShownRow({ own: { shown, problems } }: RowProps) {
  const [row] = shown.rows
  const [problem] = problems
  if (row === undefined) return null
  return (
    <dl
      aria-label="The row"
      className="flex flex-col gap-0.5 rounded border border-line bg-panel px-3 py-2 text-sm"
    >
      {Object.entries(row).map(([name, value]) => (
        <div key={name} className="flex min-w-0 gap-2">
          <dt className="w-20 shrink-0 truncate text-muted">{name}</dt>
          <dd dir="auto" className="line-clamp-3 min-w-0 font-mono break-words">
            {cellText(value)}
          </dd>
        </div>
      ))}
      {problem != null && <p className="text-bad">{problem}</p>}
    </dl>
  )
}

function SamplingFields({ trial: { choice, change } }: { trial: WorkflowTrial }) {
  const { isEvaluation, temperature, maxNewTokens, seed } = choice
  return (
    <div className="flex flex-wrap items-end gap-x-4 gap-y-2">
      <div className="flex flex-col gap-1">
        <span className="text-sm font-medium text-muted">Played as in</span>
        <Segmented
          label="Played as in"
          value={isEvaluation ? 'evaluation' : 'training'}
          options={{ training: 'Training', evaluation: 'Evaluation' }}
          onChange={(next) => change({ isEvaluation: next === 'evaluation' })}
        />
      </div>
      <NumberField
        label="Temperature"
        className="w-24"
        value={temperature}
        onChange={(next) => change({ temperature: next !== null && next > 0 ? next : 1 })}
      />
      <NumberField
        label="Max new tokens"
        className="w-28"
        placeholder="as fits"
        value={maxNewTokens}
        onChange={(next) => change({ maxNewTokens: next === null ? null : Math.max(1, Math.round(next)) })}
      />
      <NumberField
        label="Seed"
        className="w-20"
        value={seed}
        onChange={(next) => change({ seed: Math.max(0, Math.round(next ?? 0)) })}
      />
    </div>
  )
}

import { ListChecks, Pencil, Play, Plus, Trash2 } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { plainColumn, figureColumn, unnamedColumn } from '#renderer/kit/columns.tsx'
import { formatNumber, plural } from '#renderer/client/format.ts'
import { PassBadge } from '#renderer/kit/Badge.tsx'
import { Button, IconButton } from '#renderer/kit/Button.tsx'
import { Switch, Select } from '#renderer/kit/choices.tsx'
import { Help } from '#renderer/kit/Tooltip.tsx'
import { EmptyState, ErrorNote } from '#renderer/kit/states.tsx'
import { Table, type Column } from '#renderer/kit/Table.tsx'
import { Dialog } from '#renderer/kit/Dialog.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { NumberInput, TextField, AreaField } from '#renderer/kit/inputs.tsx'
import {
  expectWords,
  freeName,
  caseOf,
  expectations,
  formOf,
  type Expectation,
  type FormFaults,
  type TestForm,
} from './testForm.ts'
import type { TestCase, TestResult } from '#renderer/parts/rewardTypes.ts'
import type { TestRun } from './useTrials.ts'

interface TestsTabProps {
  readonly tests: readonly TestCase[]
  /** Null for read-only tests of the gallery. */
  readonly own: {
    readonly testRun: TestRun
    readonly onChange: (tests: readonly TestCase[]) => void
    readonly isGateOn: boolean
    readonly isGateFixed: boolean
    readonly setGate: (isOn: boolean) => void
  } | null
}

interface Line {
  readonly testCase: TestCase
  readonly result: TestResult | null
}

const blank: TestCase = { name: '', prompt: '', completion: '', row: {}, settings: {}, expect: { equals: 1 } }

/** Samples with their required rewards. */
export function TestsTab({ tests, own }: TestsTabProps) {
  const [edited, setEdited] = useState<number | 'new' | null>(null)
  const lines = tests.map((testCase): Line => ({
    testCase,
    result: own?.testRun.results?.find(({ name }) => name === testCase.name) ?? null,
  }))
  const close = () => setEdited(null)
  const keep = (testCase: TestCase) => {
    own?.onChange(
      edited === 'new' ? [...tests, testCase] : tests.map((each, i) => (i === edited ? testCase : each)),
    )
    close()
  }
  const add = own !== null && (
    <Button small icon={Plus} onClick={() => setEdited('new')}>
      Add test
    </Button>
  )
  const initial = edited === 'new' ? blank : edited === null ? undefined : tests[edited]
  return (
    <div className="flex h-full min-h-0 flex-col">
      {tests.length === 0 ? (
        <EmptyState
          icon={ListChecks}
          iconSize={24}
          title="Record what must be rewarded, and what must not."
          action={add}
        >
          A test is a sample with the reward it must earn. One button turns a result of a dry run into a test.
        </EmptyState>
      ) : (
        <>
          {own !== null && <TestBar {...own} add={add} />}
          <Table
            label="Test cases"
            rows={lines}
            columns={columnsFor(
              own === null
                ? null
                : { edit: setEdited, remove: (at) => own.onChange(tests.filter((_, i) => i !== at)) },
            )}
            rowKey={({ testCase }, i) => `${String(i)} ${testCase.name}`}
            onOpen={(_, i) => own !== null && setEdited(i)}
          />
        </>
      )}
      {initial !== undefined && (
        <TestCaseDialog
          initial={initial}
          taken={tests.filter((_, i) => i !== edited).map(({ name }) => name)}
          onClose={close}
          onKeep={keep}
        />
      )}
    </div>
  )
}

function TestBar({ add, ...own }: NonNullable<TestsTabProps['own']> & { readonly add: ReactNode }) {
  const { isRunning, run, error } = own.testRun
  return (
    <>
      <div className="flex h-9 shrink-0 items-center gap-2 border-b border-line px-4 text-sm">
        <Button small icon={Play} disabled={isRunning} onClick={run}>
          Run tests
        </Button>
        {add}
        <Outcome {...own.testRun} />
        <Gate {...own} />
      </div>
      {error !== null && <ErrorNote error={error} className="m-3 shrink-0" />}
    </>
  )
}

function Outcome({ results, isRunning }: Pick<TestRun, 'results' | 'isRunning'>) {
  if (isRunning)
    return (
      <span role="status" className="text-muted">
        Running…
      </span>
    )
  if (results === null) return null
  const failed = results.filter(({ passed }) => !passed).length
  return (
    <span role="status" className={failed === 0 ? 'text-good' : 'text-bad'}>
      {failed === 0
        ? `All ${plural(results.length, 'test')} passed`
        : `${String(failed)} of ${plural(results.length, 'test')} failed`}
    </span>
  )
}

function Gate({ isGateOn, isGateFixed, setGate }: NonNullable<TestsTabProps['own']>) {
  return (
    <span className="ml-auto flex items-center gap-1 text-muted">
      <span id="gate-words">No run starts until these pass</span>
      <Help about="the gate">
        {isGateFixed
          ? 'The gate belongs to a version: save the code first.'
          : 'A run with this version is refused while one of its tests fails. Saving the code keeps the gate.'}
      </Help>
      <Switch
        checked={isGateOn}
        onChange={setGate}
        disabled={isGateFixed}
        aria-label="No run starts until these pass"
      />
    </span>
  )
}

interface RowActions {
  readonly edit: (at: number) => void
  readonly remove: (at: number) => void
}

const completionColumn: Column<Line> = plainColumn(
  ['completion', 'Completion', 'minmax(140px, 1.5fr)'],
  ({ testCase: { completion } }) => (
    <span dir="auto" className="font-mono text-sm text-muted" title={completion}>
      {completion === '' ? 'empty' : completion.replaceAll(/\s*\n\s*/g, ' ⏎ ')}
    </span>
  ),
)

function columnsFor(actions: RowActions | null): Column<Line>[] {
  const base: Column<Line>[] = [
    plainColumn(
      ['state', 'Result', '92px'],
      ({ result }) =>
        result === null ? <span className="text-faint">not run</span> : <PassBadge passed={result.passed} />,
      ({ result }) => (result === null ? null : Number(result.passed)),
    ),
    { id: 'name', title: 'Test', width: 'minmax(140px, 1.2fr)', cell: ({ testCase }) => testCase.name },
    completionColumn,
    figureColumn(['expect', 'Expected', '116px'], ({ testCase }) => expectWords(testCase.expect)),
    figureColumn(['earned', 'Earned', '84px'], ({ result }) =>
      result === null ? '' : result.score.total === null ? 'null' : formatNumber(result.score.total),
    ),
    plainColumn(['sentence', 'Says', 'minmax(160px, 2fr)'], ({ result }) => (
      <span className={result?.passed === false ? 'text-bad' : 'text-muted'} title={result?.sentence}>
        {result?.sentence}
      </span>
    )),
  ]
  if (actions === null) return base.filter(({ id }) => ['name', 'completion', 'expect'].includes(id))
  const buttons: Column<Line> = unnamedColumn(['actions', 'Actions', '72px'], ({ testCase: { name } }, i) => (
    <span className="flex justify-end" onClick={(event) => event.stopPropagation()}>
      <IconButton small label={`Edit ${name}`} icon={Pencil} onClick={() => actions.edit(i)} />
      <IconButton small label={`Delete ${name}`} icon={Trash2} onClick={() => actions.remove(i)} />
    </span>
  ))
  return [...base, buttons]
}

/** Adds a copy under a unique name. */
export const withTest = (tests: readonly TestCase[], testCase: TestCase): readonly TestCase[] => [
  ...tests,
  {
    ...testCase,
    name: freeName(
      testCase.name,
      tests.map(({ name }) => name),
    ),
  },
]

interface TestCaseDialogProps {
  readonly initial: TestCase
  readonly taken: readonly string[]
  readonly onClose: () => void
  readonly onKeep: (testCase: TestCase) => void
}

function TestCaseDialog({ initial, taken, onClose, onKeep }: TestCaseDialogProps) {
  const [form, setForm] = useState(() => formOf(initial))
  const [faults, setFaults] = useState<FormFaults>({})
  const set = (changes: Partial<TestForm>) => setForm({ ...form, ...changes })
  const keep = () => {
    const made = caseOf(form)
    if ('faults' in made) setFaults(made.faults)
    else if (taken.includes(made.testCase.name)) setFaults({ name: 'Another test has this name.' })
    else onKeep(made.testCase)
  }
  return (
    <Dialog
      onClose={onClose}
      title={initial.name === '' ? 'New test' : 'Edit test'}
      width={560}
      action={{ label: 'Keep test', run: keep }}
    >
      <div className="flex flex-col gap-2">
        <TextField
          label="What it shows"
          error={faults.name}
          autoFocus
          value={form.name}
          onChange={(name) => set({ name })}
          placeholder="A wrong number earns nothing"
        />
        <AreaField label="Prompt" mono rows={2} value={form.prompt} onChange={(prompt) => set({ prompt })} />
        <AreaField
          label="Completion"
          mono
          rows={4}
          value={form.completion}
          onChange={(completion) => set({ completion })}
        />
        <AreaField
          label="Row"
          error={faults.row}
          help="Columns of the data set that the code may look at, as JSON."
          mono
          rows={4}
          value={form.row}
          onChange={(row) => set({ row })}
        />
        <TextField
          label="Settings"
          error={faults.settings}
          help="Settings of the code for this test, as JSON."
          mono
          value={form.settings}
          onChange={(settings) => set({ settings })}
        />
        <Expected form={form} fault={faults.low} onChange={set} />
      </div>
    </Dialog>
  )
}

interface ExpectedProps {
  readonly form: TestForm
  readonly fault: string | undefined
  readonly onChange: (changes: Partial<TestForm>) => void
}

function Expected({ form: { expectation, low, high }, fault, onChange }: ExpectedProps) {
  const hasLow = expectation === 'equals' || expectation === 'min' || expectation === 'between'
  const hasHigh = expectation === 'max' || expectation === 'between'
  return (
    <Field label="The reward" error={fault}>
      {(ids) => (
        <div className="flex items-center gap-2">
          <Select<Expectation>
            {...ids}
            value={expectation}
            options={expectations}
            onChange={(next) => onChange({ expectation: next })}
          />
          {hasLow && (
            <NumberInput
              aria-label={hasHigh ? 'Smallest reward' : 'Reward'}
              value={low}
              onChange={(next) => onChange({ low: next })}
            />
          )}
          {expectation === 'between' && <span className="text-muted">and</span>}
          {hasHigh && (
            <NumberInput
              aria-label="Largest reward"
              value={high}
              onChange={(next) => onChange({ high: next })}
            />
          )}
        </div>
      )}
    </Field>
  )
}

import { useState } from 'react'
import { Button } from '#renderer/kit/Button.tsx'
import { Select } from '#renderer/kit/choices.tsx'
import { Dialog } from '#renderer/kit/Dialog.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { NumberInput, TextArea, TextInput } from '#renderer/kit/inputs.tsx'
import { caseOf, expectations, formOf, type Expectation, type FormFaults, type TestForm } from './testForm.ts'
import type { TestCase } from './types.ts'

interface TestCaseDialogProps {
  readonly initial: TestCase
  /** Names of the other tests. */
  readonly taken: readonly string[]
  readonly onClose: () => void
  readonly onKeep: (testCase: TestCase) => void
}

export function TestCaseDialog({ initial, taken, onClose, onKeep }: TestCaseDialogProps) {
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
      isOpen
      onClose={onClose}
      title={initial.name === '' ? 'New test' : 'Edit test'}
      width={560}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" onClick={keep}>
            Keep test
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-2">
        <Field label="What it shows" error={faults.name}>
          {(ids) => (
            <TextInput
              {...ids}
              autoFocus
              value={form.name}
              onChange={(name) => set({ name })}
              placeholder="A wrong number earns nothing"
            />
          )}
        </Field>
        <Field label="Prompt">
          {(ids) => (
            <TextArea {...ids} mono rows={2} value={form.prompt} onChange={(prompt) => set({ prompt })} />
          )}
        </Field>
        <Field label="Completion">
          {(ids) => (
            <TextArea
              {...ids}
              mono
              rows={4}
              value={form.completion}
              onChange={(completion) => set({ completion })}
            />
          )}
        </Field>
        <Field
          label="Row"
          error={faults.row}
          help="Columns of the data set that the code may look at, as JSON."
        >
          {(ids) => <TextArea {...ids} mono rows={4} value={form.row} onChange={(row) => set({ row })} />}
        </Field>
        <Field label="Settings" error={faults.settings} help="Settings of the code for this test, as JSON.">
          {(ids) => (
            <TextInput {...ids} mono value={form.settings} onChange={(settings) => set({ settings })} />
          )}
        </Field>
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

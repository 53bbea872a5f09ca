import { Checkbox, Select } from '#renderer/kit/choices.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { dtypesOf, type ExportChoice, type ExportFormat, type ExportNumbers } from './exportPlan.ts'

interface ExportOptionsProps {
  readonly format: ExportFormat
  readonly value: ExportChoice
  readonly onChange: (value: ExportChoice) => void
}

/** What a format leaves to choose; nothing where it leaves nothing. */
export function ExportOptions({ format, value, onChange }: ExportOptionsProps) {
  const dtypes = dtypesOf(format)
  return (
    <>
      {dtypes.length > 1 && (
        <Field label="Precision" className="mt-4">
          {(ids) => (
            <Select<ExportNumbers>
              {...ids}
              value={dtypes.some((offer) => offer.value === value.dtype) ? value.dtype : 'usual'}
              options={dtypes}
              onChange={(dtype) => onChange({ ...value, dtype })}
            />
          )}
        </Field>
      )}
      {format === 'onnx' && (
        <div className="mt-4">
          <Checkbox
            label="Keep the adapter apart, as inputs of the graph"
            checked={value.adapterInputs}
            onChange={(adapterInputs) => onChange({ ...value, adapterInputs })}
          />
        </div>
      )}
    </>
  )
}

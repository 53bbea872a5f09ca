import { Select } from '#renderer/kit/choices.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { TextInput } from '#renderer/kit/inputs.tsx'
import type { AlgorithmEntry } from '#renderer/client/runSettings.ts'
import { valueAt, type JsonObject } from '#shared/config/paths.ts'
import type { Problem } from '#shared/errors.ts'
import { problemsAt, wrongWords } from './problems.ts'
import { algorithmsOf } from './stages.ts'

interface AnswerColumnsProps {
  readonly config: JsonObject
  readonly algorithms: readonly AlgorithmEntry[]
  /** Of the rows; empty where they are not known. */
  readonly columns: readonly string[]
  readonly problems: readonly Problem[]
  readonly onSet: (key: string, value: unknown) => void
}

const demonstrations = [['data.completion', 'Answer', 'found by its name']] as const
const preferences = [
  ['data.chosen', 'Better answer', 'chosen'],
  ['data.rejected', 'Worse answer', 'rejected'],
] as const

/** Which columns hold the answers, for methods that learn from those. */
export function AnswerColumns({ config, algorithms, columns, problems, onSet }: AnswerColumnsProps) {
  const used = algorithmsOf(config).map((id) => algorithms.find((each) => each.id === id)?.experience)
  const shown = [
    ...(used.includes('demonstrations') ? demonstrations : []),
    ...(used.includes('preferences') ? preferences : []),
  ]
  if (shown.length === 0) return null
  return (
    <div className="flex flex-wrap gap-x-6 gap-y-2">
      {shown.map(([key, label, usual]) => {
        const value = valueAt(config, key)
        const text = typeof value === 'string' ? value : ''
        const set = (next: string) => onSet(key, next === '' ? undefined : next)
        return (
          <Field
            key={key}
            label={`${label}: column`}
            error={wrongWords(problemsAt(problems, key))}
            className="w-56"
          >
            {(ids) =>
              columns.length === 0 ? (
                <TextInput {...ids} mono value={text} placeholder={usual} onChange={set} />
              ) : (
                <Select
                  {...ids}
                  value={text}
                  options={[
                    { value: '', label: `As usual: ${usual}` },
                    ...columns.map((name) => ({ value: name, label: name })),
                  ]}
                  onChange={set}
                />
              )
            }
          </Field>
        )
      })}
    </div>
  )
}

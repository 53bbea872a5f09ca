import { ArrowRight, Pencil } from 'lucide-react'
import { useState } from 'react'
import { IconButton } from '#renderer/kit/Button.tsx'
import { Checkbox } from '#renderer/kit/choices.tsx'
import { classes } from '#renderer/kit/classes.ts'
import { TextInput } from '#renderer/kit/inputs.tsx'
import { columnWords, type DataColumn } from '#renderer/parts/columnFacts.ts'
import {
  answerName,
  mergedColumns,
  promptColumns,
  type ColumnChoice,
  type MappingForm,
} from './mappingForm.ts'

interface ColumnListProps {
  readonly columns: readonly DataColumn[]
  readonly form: MappingForm
  readonly onChange: (form: MappingForm) => void
}

/** Lists every column with its contents, whether it is kept, and its new name. */
export function ColumnList({ columns, form, onChange }: ColumnListProps) {
  const change = (name: string, changes: Partial<ColumnChoice>) =>
    onChange({
      ...form,
      columns: form.columns.map((column) => (column.name === name ? { ...column, ...changes } : column)),
    })
  return (
    <ul className="flex flex-col divide-y divide-line rounded border border-line">
      {columns.map((column) => {
        const choice = form.columns.find(({ name }) => name === column.name)
        return (
          choice !== undefined && (
            <ColumnRow
              key={column.name}
              {...{ column, choice, form }}
              onChange={(changes) => change(column.name, changes)}
            />
          )
        )
      })}
    </ul>
  )
}

interface ColumnRowProps {
  readonly column: DataColumn
  readonly choice: ColumnChoice
  readonly form: MappingForm
  readonly onChange: (changes: Partial<ColumnChoice>) => void
}

function ColumnRow({ column, choice: { name, to, isKept }, form, onChange }: ColumnRowProps) {
  const [isRenaming, setRenaming] = useState(false)
  const isAnswer = form.answer === name
  const isTaken =
    (form.taking?.kind === 'last-message' && form.taking.column === name) ||
    mergedColumns(form).includes(name)
  const use = useOf({ isAnswer, isPrompt: promptColumns(form).includes(name), isTaken })
  const isFixed = isAnswer || isTaken
  const next = isAnswer ? answerName : to
  return (
    <li className="flex items-start gap-1 py-1 pr-1 pl-1">
      <Checkbox
        aria-label={`Keep ${name}`}
        checked={isKept || isFixed}
        disabled={isFixed}
        onChange={(keep) => onChange({ isKept: keep })}
      />
      <div className="min-w-0 grow">
        <div className="flex min-h-6 items-center gap-1.5">
          <span
            className={classes(
              'min-w-0 truncate font-medium',
              !isKept && !isFixed && 'text-faint line-through',
            )}
            title={name}
          >
            {name}
          </span>
          {isRenaming && !isFixed ? (
            <NewName name={name} to={to} onChange={onChange} onEnd={() => setRenaming(false)} />
          ) : (
            next !== name &&
            !isRenaming &&
            !isTaken && (
              <>
                <ArrowRight size={12} aria-label="becomes" className="shrink-0 text-faint" />
                <span className="min-w-0 truncate">{next}</span>
              </>
            )
          )}
          <span className="ml-auto shrink-0 text-sm text-accent-ink">{use}</span>
          {isFixed || !isKept ? (
            <span className="size-6 shrink-0" aria-hidden />
          ) : (
            <IconButton
              small
              label={`Rename ${name}`}
              icon={Pencil}
              iconSize={12}
              onClick={() => setRenaming(true)}
            />
          )}
        </div>
        <p className="pb-0.5 text-xs text-faint">{columnWords(column)}</p>
      </div>
    </li>
  )
}

interface NewNameProps {
  readonly name: string
  readonly to: string
  readonly onChange: ColumnRowProps['onChange']
  readonly onEnd: () => void
}

/** Field in which Enter or leaving ends the renaming. */
const NewName = ({ name, to, onChange, onEnd }: NewNameProps) => (
  <>
    <ArrowRight size={12} aria-hidden className="shrink-0 text-faint" />
    <TextInput
      small
      autoFocus
      aria-label={`New name of ${name}`}
      value={to}
      onChange={(value) => onChange({ to: value })}
      onBlur={onEnd}
      onKeyDown={({ key }) => key === 'Enter' && onEnd()}
      className="max-w-40"
    />
  </>
)

function useOf({
  isAnswer,
  isPrompt,
  isTaken,
}: Readonly<Record<'isAnswer' | 'isPrompt' | 'isTaken', boolean>>): string | null {
  if (isTaken) return 'split'
  if (isAnswer) return isPrompt ? 'prompt and answer' : 'answer'
  return isPrompt ? 'prompt' : null
}

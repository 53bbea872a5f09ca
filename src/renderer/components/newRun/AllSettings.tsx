import { useDeferredValue, useState } from 'react'
import { plural } from '#renderer/format.ts'
import { Button } from '../base/Button.tsx'
import { Checkbox } from '../base/choices.tsx'
import { Help } from '../base/Help.tsx'
import { SearchInput } from '../base/inputs.tsx'
import {
  baseValue,
  changedFields,
  effectiveValue,
  isChanged,
  withReset,
  withSetting,
  type Draft,
} from './draft.ts'
import { matchesSearch, type FieldSection, type SettingField } from './fields.ts'
import { problemsAt, type Problem } from './problems.ts'
import { SettingRow } from './SettingRow.tsx'

interface AllSettingsProps {
  readonly draft: Draft
  readonly sections: readonly FieldSection[]
  readonly problems: readonly Problem[]
  readonly onChange: (draft: Draft) => void
}

/** Every setting of a run, by section, to be searched by name. */
export function AllSettings({ draft, sections, problems, onChange }: AllSettingsProps) {
  const [search, setSearch] = useState('')
  const [onlyChanged, setOnlyChanged] = useState(false)
  const words = useDeferredValue(search)
  const shown = sections
    .filter(({ id }) => id !== 'environment' || typeof draft.config['environment'] === 'object')
    .map((section) => ({
      ...section,
      fields: section.fields.filter(
        (field) => matchesSearch(field, words) && (!onlyChanged || isChanged(draft, field)),
      ),
    }))
    .filter(({ fields }) => fields.length > 0)
  const changed = changedFields(
    draft,
    sections.flatMap(({ fields }) => fields),
  )
  const resetAll = () => onChange(changed.reduce(withReset, draft))
  return (
    <div>
      <div className="sticky -top-6 z-10 -mx-1 flex flex-wrap items-center gap-3 bg-bg px-1 py-2">
        <SearchInput label="Search settings" value={search} onChange={setSearch} className="w-64" />
        <Checkbox label="Only what is changed" checked={onlyChanged} onChange={setOnlyChanged} />
        <span className="text-faint">{plural(changed.length, 'setting changed', 'settings changed')}</span>
        {changed.length > 0 && (
          <Button small className="ml-auto" onClick={resetAll}>
            Reset all
          </Button>
        )}
      </div>
      {shown.length === 0 && (
        <p className="py-4 text-muted">
          {onlyChanged && words === ''
            ? 'Nothing is changed: every setting is as it is by default.'
            : 'No setting has that name.'}
        </p>
      )}
      {shown.map((section) => (
        <Section key={section.id} draft={draft} section={section} problems={problems} onChange={onChange} />
      ))}
    </div>
  )
}

interface SectionProps {
  readonly draft: Draft
  readonly section: FieldSection
  readonly problems: readonly Problem[]
  readonly onChange: (draft: Draft) => void
}

function Section({ draft, section, problems, onChange }: SectionProps) {
  const { id, title, help, fields } = section
  const isFixed = draft.fork !== null && id === 'adapter'
  return (
    <section className="border-t border-line py-3 first-of-type:border-t-0">
      <h4 className="mb-1 flex items-center font-medium">
        {title}
        {help !== '' && <Help about={title}>{help}</Help>}
        {isFixed && (
          <span className="ml-2 text-sm font-normal text-faint">
            A fork goes on with the adapter of its checkpoint.
          </span>
        )}
      </h4>
      <div className="grid grid-cols-[repeat(auto-fill,minmax(208px,1fr))] gap-x-6 gap-y-2">
        {fields.map((field) => (
          <DraftSetting
            key={field.key}
            draft={draft}
            field={field}
            problems={problems}
            onChange={onChange}
            disabled={isFixed}
          />
        ))}
      </div>
    </section>
  )
}

interface DraftSettingProps {
  readonly draft: Draft
  readonly field: SettingField
  readonly problems: readonly Problem[]
  readonly onChange: (draft: Draft) => void
  readonly disabled?: boolean
  readonly label?: string
  readonly note?: string | undefined
}

/** A setting of the run being set up. */
export function DraftSetting({ draft, field, problems, onChange, ...rest }: DraftSettingProps) {
  const set = (value: unknown) =>
    onChange(value === undefined ? withReset(draft, field) : withSetting(draft, field, value))
  return (
    <SettingRow
      field={field}
      value={effectiveValue(draft.config, field)}
      base={baseValue(draft, field)}
      isChanged={isChanged(draft, field)}
      onChange={set}
      onReset={() => onChange(withReset(draft, field))}
      problem={problemsAt(problems, field.key)[0]?.sentence}
      {...rest}
    />
  )
}

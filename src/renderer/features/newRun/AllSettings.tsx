import { useDeferredValue, useState } from 'react'
import { plural } from '#renderer/client/format.ts'
import { Telescope } from 'lucide-react'
import { Button, IconButton } from '#renderer/kit/Button.tsx'
import { Checkbox } from '#renderer/kit/choices.tsx'
import { classes } from '#renderer/kit/classes.ts'
import { Help } from '#renderer/kit/Tooltip.tsx'
import { SearchInput } from '#renderer/kit/inputs.tsx'
import {
  baseValue,
  changedFields,
  effectiveValue,
  isChanged,
  withReset,
  withSetting,
  type Draft,
} from './draft.ts'
import type { FieldSection, SettingField } from '#shared/config/fields.ts'
import type { Problem } from '#shared/errors.ts'
import { isReachable, matchesSearch, useRunSettings } from '#renderer/client/runSettings.ts'
import { Sentence } from '#renderer/kit/Sentence.tsx'
import { SettingRow, type SettingRowProps } from '#renderer/kit/SettingRow.tsx'
import { isMissing, problemsAt, problemWords } from './problems.ts'
import { searchedWords } from './SearchedSettings.tsx'
import { canSearch, firstRange, isOfStudy, kindOf, searchedIn, withSearched } from './studyDraft.ts'

interface AllSettingsProps {
  readonly draft: Draft
  readonly sections: readonly FieldSection[]
  readonly problems: readonly Problem[]
  readonly onChange: (draft: Draft) => void
}

/** Searchable list of all settings of a run, by section. */
export function AllSettings({ draft, sections, problems, onChange }: AllSettingsProps) {
  const [search, setSearch] = useState('')
  const [onlyChanged, setOnlyChanged] = useState(false)
  const words = useDeferredValue(search)
  const { toolNames = {} } = useRunSettings() ?? {}
  const shown = sections
    .map((section) => ({
      ...section,
      fields: section.fields.filter(
        (field) =>
          isReachable(draft.config, field) &&
          isFound(field, section.fields, (each) => matchesSearch(each, words, toolNames)) &&
          (!onlyChanged || isChanged(draft, field)),
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
        <Checkbox label="Changed settings only" checked={onlyChanged} onChange={setOnlyChanged} />
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
            ? 'Nothing changed: every setting has its default.'
            : 'No settings match.'}
        </p>
      )}
      {shown.map((section) => (
        <Section key={section.id} draft={draft} section={section} problems={problems} onChange={onChange} />
      ))}
    </div>
  )
}

/** Matches a search; an absent section is found by its potential contents. */
const isFound = (
  field: SettingField,
  all: readonly SettingField[],
  matches: (field: SettingField) => boolean,
): boolean =>
  matches(field) ||
  (field.control.kind === 'section' && all.some((other) => other.within === field.key && matches(other)))

interface SectionProps {
  readonly draft: Draft
  readonly section: FieldSection
  readonly problems: readonly Problem[]
  readonly onChange: (draft: Draft) => void
}

const settingsGrid = 'grid grid-cols-[repeat(auto-fill,minmax(208px,1fr))] gap-x-6 gap-y-2'

function Section({ draft, section, problems, onChange }: SectionProps) {
  const { id, title, help, fields } = section
  const isFixed = draft.fork !== null && id === 'adapter'
  const row = { draft, problems, onChange, disabled: isFixed }
  return (
    <section className="border-t border-line py-3 first-of-type:border-t-0">
      <h4 className="mb-1 flex items-center font-medium">
        {title}
        {help !== '' && <Help about={title}>{help}</Help>}
        {isFixed && (
          <span className="ml-2 text-sm font-normal text-faint">
            A fork continues the adapter of its checkpoint.
          </span>
        )}
      </h4>
      <SettingFields id={id} fields={fields} {...row} />
    </section>
  )
}

interface SettingFieldsProps extends Omit<DraftSettingProps, 'field'> {
  readonly fields: readonly SettingField[]
  /** Key of the section, if it is optional. */
  readonly id?: string
}

/** Settings side by side; those of an optional section in a box of their own. */
export function SettingFields({ fields, id, ...row }: SettingFieldsProps) {
  return (
    <div className={settingsGrid}>
      {fields
        .filter(({ within }) => within === undefined || within === id)
        .map((field) =>
          field.control.kind === 'section' ? (
            <InnerSection key={field.key} head={field} fields={fields} {...row} />
          ) : (
            <DraftSetting key={field.key} field={field} {...row} />
          ),
        )}
    </div>
  )
}

interface InnerSectionProps extends Omit<DraftSettingProps, 'field'> {
  readonly head: SettingField
  /** Visible fields of the enclosing section. */
  readonly fields: readonly SettingField[]
}

/** Optional section: a switch for its presence, then its contents. */
function InnerSection({ head, fields, ...row }: InnerSectionProps) {
  const inner = fields.filter(({ within }) => within === head.key)
  return (
    <div className="col-span-full my-1 rounded border border-line bg-panel px-3 py-2">
      <DraftSetting field={head} {...row} />
      {inner.length > 0 && (
        <div className={classes('mt-2', settingsGrid)}>
          {inner.map((field) => (
            <DraftSetting key={field.key} field={field} {...row} />
          ))}
        </div>
      )}
    </div>
  )
}

interface DraftSettingProps extends Pick<SettingRowProps, 'field' | 'disabled' | 'label' | 'note'> {
  readonly draft: Draft
  readonly problems: readonly Problem[]
  readonly onChange: (draft: Draft) => void
}

export function DraftSetting({ draft, field, problems, onChange, note, ...rest }: DraftSettingProps) {
  const set = (value: unknown) =>
    onChange(value === undefined ? withReset(draft, field) : withSetting(draft, field, value))
  const problem = problemOf(field, problems)
  const isNeeded = problem !== undefined && isMissing(problem)
  return (
    <SettingRow
      field={field}
      value={effectiveValue(draft.config, field)}
      base={baseValue(draft, field)}
      isChanged={isChanged(draft, field)}
      onChange={set}
      onReset={() => onChange(withReset(draft, field))}
      problem={isNeeded || problem === undefined ? undefined : <Sentence text={problemWords(problem)} />}
      note={isNeeded ? 'Needed.' : (searchedWords(draft.config, field.key) ?? note)}
      action={<SearchOver draft={draft} field={field} onChange={onChange} />}
      {...rest}
    />
  )
}

/** Adds a setting to the search of a population or sweep, or removes it. */
function SearchOver({ draft, field, onChange }: Pick<DraftSettingProps, 'draft' | 'field' | 'onChange'>) {
  const { config } = draft
  const kind = kindOf(config)
  if (isOfStudy(field.key) || !canSearch(kind, field)) return null
  const isSearched = searchedIn(config)[field.key] !== undefined
  const range = isSearched ? undefined : firstRange(kind, field, effectiveValue(config, field))
  return (
    <IconButton
      small
      label={isSearched ? `Do not search over ${field.label}` : `Search over ${field.label}`}
      aria-pressed={isSearched}
      icon={Telescope}
      iconSize={12}
      onClick={() => onChange({ ...draft, config: withSearched(config, field.key, range) })}
    />
  )
}

/** Returns the problem of a setting; problems inside a section are shown at the settings in it. */
function problemOf({ key, control }: SettingField, problems: readonly Problem[]): Problem | undefined {
  const own = problemsAt(problems, key)
  return control.kind === 'section' ? own.find(({ path }) => path === key) : own[0]
}

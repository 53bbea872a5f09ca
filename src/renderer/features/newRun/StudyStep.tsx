import { valueWords } from '#shared/config/fields.ts'
import { metricDeclarations } from '#shared/metrics.ts'
import { studyFields, type StudyKind } from '#shared/studies.ts'
import { valueAt, withValue, type JsonObject } from '#shared/config/paths.ts'
import { isReachable } from '#renderer/client/runSettings.ts'
import { Field } from '#renderer/kit/Field.tsx'
import { Picker } from '#renderer/kit/Picker.tsx'
import { useState } from 'react'
import { DraftSetting, SettingFields } from './AllSettings.tsx'
import { effectiveValue } from './draft.ts'
import { problemsAt, problemWords } from './problems.ts'
import { parsedValues, SearchedSettings } from './SearchedSettings.tsx'
import { Sentence } from '#renderer/kit/Sentence.tsx'
import { kindOf } from './studyDraft.ts'
import type { PartProps } from './useNewRun.ts'
import { TextField } from '#renderer/kit/inputs.tsx'

/** Chooses how trials of a population, a sweep or several seeds differ, and the metric that compares them. */
export function StudyStep(props: PartProps) {
  const { draft, problems, onChange } = props
  const kind = kindOf(draft.config)
  if (kind === 'run') return null
  const fields = studyFields[kind].filter(
    (field) => isReachable(draft.config, field) && isOfUse(draft.config, field.key),
  )
  const isFitness = (key: string) => key.includes('.fitness.')
  const row = { draft, problems, onChange }
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-5">
      {kind === 'seeds' ? (
        <Seeds {...row} />
      ) : (
        <div>
          <h3 className="mb-1 text-sm font-medium text-muted">
            {kind === 'sweep' ? 'What the trials differ in' : 'What mutates'}
          </h3>
          <SearchedSettings {...props} />
        </div>
      )}
      <SettingFields {...row} fields={fields.filter(({ key }) => !isFitness(key))} />
      <div>
        <h3 className="mb-1 text-sm font-medium text-muted">What they are compared by</h3>
        <div className="grid grid-cols-[repeat(auto-fill,minmax(208px,1fr))] gap-x-6 gap-y-2">
          {fields
            .filter(({ key }) => isFitness(key))
            .map((field) =>
              field.key.endsWith('.metric') ? (
                <FitnessMetric key={field.key} {...row} kind={kind} />
              ) : (
                <DraftSetting key={field.key} field={field} {...row} />
              ),
            )}
        </div>
      </div>
    </div>
  )
}

/** False for settings without effect: a grid has points, and nothing in it is proposed in batches. */
function isOfUse(config: JsonObject, key: string): boolean {
  const isGrid = valueAt(config, 'sweep.method') === 'grid'
  return key === 'sweep.points' ? isGrid : key !== 'sweep.batch' || !isGrid
}

interface FitnessProps extends Omit<PartProps, 'known'> {
  readonly kind: StudyKind
}

/** Chooses any reported metric; those of evaluations come first. */
function FitnessMetric({ draft, problems, onChange, kind }: FitnessProps) {
  const key = `${kind}.fitness.metric`
  const field = studyFields[kind].find((each) => each.key === key)
  if (field === undefined) return null
  const chosen = String(effectiveValue(draft.config, field))
  const names = [...metricDeclarations.keys()].filter((name) => !name.includes('{'))
  const isEvaluation = (name: string) => name.startsWith('eval_')
  const [problem] = problemsAt(problems, key)
  const set = (name: string) => {
    const goal = metricDeclarations.get(name)?.better === 'lower' ? 'min' : undefined
    const named = withValue(draft.config, key, name === field.default ? undefined : name)
    onChange({ ...draft, config: withValue(named, `${kind}.fitness.goal`, goal) })
  }
  return (
    <Field
      label={field.label}
      help={field.help}
      error={problem === undefined ? undefined : <Sentence text={problemWords(problem)} />}
    >
      {(ids) => (
        <Picker
          {...ids}
          label={field.label}
          placeholder="Choose a metric"
          value={chosen}
          items={[...new Set([chosen, ...names])]
            .toSorted((a, b) => Number(isEvaluation(b)) - Number(isEvaluation(a)))
            .map((name) => ({
              key: name,
              title: metricDeclarations.get(name)?.label ?? name,
              detail: metricDeclarations.get(name)?.explanation ?? '',
              group: isEvaluation(name) ? 'On validation rows' : 'During training',
            }))}
          empty=""
          onChange={set}
          className="w-full"
        />
      )}
    </Field>
  )
}

/** Chooses the number of seeds, or the seeds themselves. */
function Seeds({ draft, problems, onChange }: Omit<PartProps, 'known'>) {
  const values = valueAt(draft.config, 'seeds.values')
  const [text, setText] = useState<string | null>(null)
  const [problem] = problemsAt(problems, 'seeds.values')
  const shown = valueWords(values)
  const take = (next: string) => {
    setText(next)
    const numbers = parsedValues(next)
    const value = numbers.length === 1 ? numbers[0] : numbers
    onChange({ ...draft, config: withValue(draft.config, 'seeds.values', value) })
  }
  return (
    <TextField
      label="Seeds"
      className="max-w-80"
      help="How many seeds, beginning with that of the run; or the seeds themselves, separated by commas."
      note={Array.isArray(values) ? 'These seeds.' : 'The seed of the run, and those that follow it.'}
      error={problem === undefined ? undefined : <Sentence text={problemWords(problem)} />}
      value={text ?? shown}
      placeholder="5, or 1, 2, 3"
      onChange={take}
      onBlur={() => setText(null)}
    />
  )
}

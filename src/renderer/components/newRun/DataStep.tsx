import { useAnswer } from '#renderer/hooks/api.tsx'
import { useChooseData } from '#renderer/hooks/newRunPrefill.ts'
import { formatCount } from '#renderer/format.ts'
import { Segmented } from '../base/choices.tsx'
import { Field } from '../base/Field.tsx'
import { NumberInput, TextInput } from '../base/inputs.tsx'
import { DataPicker } from '../data/DataPicker.tsx'
import { AnswerColumns } from './AnswerColumns.tsx'
import { isObject, valueAt, withValue, type JsonObject } from './json.ts'
import { problemsAt, wrongWords, type Problem } from './problems.ts'
import { PromptFields } from './PromptFields.tsx'
import type { Known } from './summaries.ts'
import { TemplateFields } from './TemplateFields.tsx'
import { templateInputOf } from './variables.ts'

interface DataStepProps {
  readonly config: JsonObject
  readonly known: Known
  readonly problems: readonly Problem[]
  readonly onChange: (change: (config: JsonObject) => JsonObject) => void
}

type DataSetOf = Known['dataSets'][number]

type Source = 'rows' | 'file' | 'episodes'

/** Rows to learn from, how they become prompts, and what is held out. */
export function DataStep({ config, known, problems, onChange }: DataStepProps) {
  const train = valueAt(config, 'data.train')
  const version = versionAt(train, known.dataSets)
  const columns = version?.columns.map(({ name }) => name) ?? []
  const source = sourceOf(train, version !== undefined)
  const choose = useChooseData(onChange)
  const set = (key: string, value: unknown) => onChange((now) => withValue(now, key, value))
  const own = [...problemsAt(problems, 'data.train'), ...problems.filter(({ key }) => key === null)]
  return (
    <div className="grid gap-4">
      <div>
        <Segmented
          label="Where rows come from"
          value={source}
          options={[
            { value: 'rows', label: 'Data set' },
            { value: 'file', label: 'File or folder' },
            { value: 'episodes', label: 'Made up by the environment' },
          ]}
          onChange={(next) => set('data.train', emptyOf(next))}
        />
      </div>
      {source === 'rows' && (
        <Field label="Data set" error={wrongWords(own)} className="max-w-140">
          {(ids) => <DataPicker {...ids} value={version?.id ?? null} onChange={choose} />}
        </Field>
      )}
      {source === 'file' && (
        <Field
          label="Path"
          help="A file (jsonl, json, csv, tsv, parquet) on the machine where Turnwise runs. It is read as it is when the run starts."
          error={wrongWords(own)}
          className="max-w-140"
        >
          {(ids) => (
            <TextInput
              {...ids}
              mono
              value={typeof train === 'string' ? train : ''}
              onChange={(path) => set('data.train', path)}
            />
          )}
        </Field>
      )}
      {source === 'episodes' && (
        <Field label="Episodes in one pass" error={wrongWords(own)} className="max-w-40">
          {(ids) => (
            <NumberInput
              {...ids}
              value={Number(valueAt(train, 'episodes'))}
              onChange={(episodes) => episodes !== null && set('data.train', { episodes })}
            />
          )}
        </Field>
      )}
      {source !== 'episodes' && typeof train === 'string' && train !== '' && (
        <>
          <HeldOut config={config} known={known} problems={problems} onSet={set} version={version} />
          <PromptFields
            value={valueAt(config, 'data.prompt')}
            columns={columns}
            versionId={version?.id ?? null}
            model={typeof config['model'] === 'string' ? config['model'] : null}
            problem={wrongWords(problemsAt(problems, 'data.prompt'))}
            onChange={(prompt) => set('data.prompt', prompt)}
            template={templateInputOf(config)}
          >
            <TemplateFields config={config} columns={columns} problems={problems} onSet={set} />
          </PromptFields>
          <AnswerColumns
            config={config}
            algorithms={known.algorithms}
            columns={columns}
            problems={problems}
            onSet={set}
          />
        </>
      )}
    </div>
  )
}

const versionAt = (train: unknown, dataSets: readonly DataSetOf[]) =>
  dataSets.flatMap(({ versions }) => versions).find(({ directory }) => directory === train)

function sourceOf(train: unknown, isInLibrary: boolean): Source {
  if (isObject(train)) return 'episodes'
  return train === undefined || isInLibrary ? 'rows' : 'file'
}

const emptyOf = (source: Source): unknown => {
  if (source === 'rows') return undefined
  return source === 'file' ? '' : { episodes: 512 }
}

interface HeldOutProps extends Pick<DataStepProps, 'config' | 'known' | 'problems'> {
  readonly version: DataSetOf['versions'][number] | undefined
  readonly onSet: (key: string, value: unknown) => void
}

const defaultSeed = 42

/** Rows that tell whether what is learned holds for others. */
function HeldOut({ config, known, problems, version, onSet }: HeldOutProps) {
  const heldOut = valueAt(config, 'data.heldOut')
  const kind = isObject(heldOut) ? 'part' : typeof heldOut === 'string' ? 'set' : 'none'
  const share = valueAt(heldOut, 'share')
  const other = versionAt(heldOut, known.dataSets)
  const { data: split } = useAnswer(
    'datasets.split',
    { versionId: version?.id ?? '', split: { share: Number(share), seed: seedOf(heldOut) } },
    { enabled: version !== undefined && typeof share === 'number' && share > 0 && share < 1, keep: true },
  )
  const counted =
    split === undefined || kind !== 'part'
      ? undefined
      : `${formatCount(split.train)} to train on, ${formatCount(split.heldOut)} to measure on`
  return (
    <div className="flex flex-wrap items-start gap-x-6 gap-y-2">
      <div className="flex flex-col">
        <span className="flex min-h-7 items-center text-sm font-medium text-muted">
          Held out for measuring
        </span>
        <Segmented
          label="Held out for measuring"
          value={kind}
          options={[
            { value: 'part', label: 'A part of the rows' },
            { value: 'set', label: 'Another data set' },
            { value: 'none', label: 'Nothing' },
          ]}
          onChange={(next) => onSet('data.heldOut', heldOutOf(next))}
        />
      </div>
      {kind === 'part' && typeof share === 'number' && (
        <Field label="Share in %" note={counted} error={wrongWords(problemsAt(problems, 'data.heldOut'))}>
          {(ids) => (
            <NumberInput
              {...ids}
              className="max-w-24"
              value={Number((share * 100).toPrecision(6))}
              onChange={(percent) =>
                percent !== null && onSet('data.heldOut', { share: percent / 100, seed: seedOf(heldOut) })
              }
            />
          )}
        </Field>
      )}
      {kind === 'part' && typeof share !== 'number' && (
        <Field label="Rows" error={wrongWords(problemsAt(problems, 'data.heldOut'))}>
          {(ids) => (
            <NumberInput
              {...ids}
              className="max-w-24"
              value={Number(valueAt(heldOut, 'rows'))}
              onChange={(rows) => rows !== null && onSet('data.heldOut', { rows, seed: seedOf(heldOut) })}
            />
          )}
        </Field>
      )}
      {kind === 'set' && (
        <Field label="Data set" error={wrongWords(problemsAt(problems, 'data.heldOut'))} className="min-w-64">
          {(ids) =>
            other !== undefined || heldOut === '' ? (
              <DataPicker
                {...ids}
                label="Held-out data set"
                value={other?.id ?? null}
                onChange={(id) => onSet('data.heldOut', directoryOf(id, known.dataSets))}
              />
            ) : (
              <TextInput
                {...ids}
                mono
                value={String(heldOut)}
                onChange={(path) => onSet('data.heldOut', path)}
              />
            )
          }
        </Field>
      )}
    </div>
  )
}

const seedOf = (heldOut: unknown): number => {
  const seed = valueAt(heldOut, 'seed')
  return typeof seed === 'number' ? seed : defaultSeed
}

function heldOutOf(kind: 'part' | 'set' | 'none'): unknown {
  if (kind === 'none') return undefined
  return kind === 'set' ? '' : { share: 0.1, seed: defaultSeed }
}

const directoryOf = (versionId: string, dataSets: readonly DataSetOf[]): string | undefined =>
  dataSets.flatMap(({ versions }) => versions).find(({ id }) => id === versionId)?.directory

import type { RequestSettings } from '#shared/config/fields.ts'
import { Gauge } from 'lucide-react'
import { useState } from 'react'
import { difficultySettings } from '#shared/api/difficulty.ts'
import { sampling as samplingSchema } from '#shared/api/models.ts'
import { useAnswer, useCommand, type Answer } from '#renderer/client/api.tsx'
import { navigate } from '#renderer/client/route.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { useNow } from '#renderer/client/live.ts'
import { useRuns, type RunEntry } from '#renderer/client/runs.ts'
import { formatAgo, formatNumber, plural } from '#renderer/client/format.ts'
import { Select } from '#renderer/kit/choices.tsx'
import { RequestFields, useRequestForm } from '#renderer/kit/RequestForm.tsx'
import { SplitPane } from '#renderer/kit/SplitPane.tsx'
import { Busy, EmptyState, ErrorNote, Loading, TaskProgress } from '#renderer/kit/states.tsx'
import { choiceTitle, type ListedModel, type ModelChoice } from '#renderer/client/modelChoice.ts'
import { useSetting } from '#renderer/client/settings.ts'
import { Field } from '#renderer/kit/Field.tsx'
import { ModelPicker } from '#renderer/parts/ModelPicker.tsx'
import type { RewardChoice } from '#renderer/parts/rewardChoice.ts'
import { useDifficulty } from '#renderer/parts/useData.ts'
import { TaskForm } from './TaskForm.tsx'
import { usePrompt, usePreviewModel, type Opened } from './usePrompt.ts'
import { PassRates } from './PassRates.tsx'
import { rowsSoFar } from './passRates.ts'

type Summary = Answer<'datasets.difficulties'>['known'][number]

/** Measures an untrained model's reward on each row: rows too hard or too easy teach nothing. */
export function DifficultyTab({ opened }: { opened: Opened }) {
  const versionId = opened.version.id
  const { prompt } = usePrompt(opened)
  const { task, known, problems, measured } = useDifficulty(versionId)
  const [chosen, choose] = useState<string | null>(null)
  const [samples, setSamples] = useState(4)
  const isRunning = task.state === 'running'
  const shown = chosen ?? measured ?? known?.[0]?.id ?? null
  return (
    <SplitPane id="data.difficulty" sizes={[32, 68]} minimums={[300, 420]}>
      <DifficultyForm
        rows={opened.version.rows}
        isRunning={isRunning}
        onCancel={task.cancel}
        onMeasure={({ choice, rewards, ...rest }) => {
          setSamples(rest.samplesPerRow)
          choose(null)
          task.start({ versionId, prompt, ...choice, rewards: [...rewards], ...rest })
        }}
      />
      <section aria-label="Pass rates" className="flex min-h-0 grow flex-col">
        {task.error !== null && <ErrorNote error={task.error} className="m-4" />}
        {problems.length > 0 && (
          <ErrorNote
            error={{ code: null, message: problems.join(' '), hint: 'Other measurements are not affected.' }}
            className="m-4"
          />
        )}
        {isRunning ? (
          <UnderWay items={task.items} samples={samples} />
        ) : (
          <>
            {shown !== null && known !== undefined && (
              <Earlier known={known} shown={shown} onChoose={choose} />
            )}
            {shown !== null && <Kept key={shown} versionId={versionId} id={shown} />}
            {shown === null && known !== undefined && task.error === null && <NothingYet />}
          </>
        )}
      </section>
    </SplitPane>
  )
}

const NothingYet = () => (
  <EmptyState icon={Gauge} title="How hard are these rows?">
    The model answers some rows several times and the rewards score its completions. A run learns nothing from
    rows that always or never pass, only from the rows in between.
  </EmptyState>
)

interface UnderWayProps {
  readonly items: readonly Answer<'datasets.difficulty'>[]
  /** Number of completions of each row. */
  readonly samples: number
}

function UnderWay({ items, samples }: UnderWayProps) {
  const last = items.at(-1)
  if (last === undefined) return <Busy label="Starting the model" />
  return (
    <>
      {'progress' in last && (
        <div className="shrink-0 border-b border-line px-6 py-3">
          <TaskProgress progress={last.progress} />
        </div>
      )}
      <PassRates {...rowsSoFar(items)} samples={samples} />
    </>
  )
}

function Kept({ versionId, id }: { versionId: string; id: string }) {
  const { data, error } = useAnswer('datasets.difficultyRows', { versionId, id })
  if (error !== null) return <ErrorNote error={error} className="m-4" />
  if (data === undefined) return <Loading />
  const { summary, rows, problems } = data
  return (
    <>
      {summary.failure !== null && (
        <p role="alert" className="shrink-0 border-b border-line bg-caution-soft px-6 py-2">
          A reward failed on some completions: {summary.failure}
        </p>
      )}
      <PassRates
        rows={rows}
        problems={problems}
        samples={summary.request.samplesPerRow}
        action={(shown) => <Keep versionId={versionId} id={id} rows={shown.map(({ row }) => row)} />}
      />
    </>
  )
}

/** Makes the rows shown a version of the data set, with their difficulty as a column. */
function Keep({ rows, ...measurement }: { versionId: string; id: string; rows: number[] }) {
  const keep = useCommand('datasets.keepMeasured', {
    onDone: ({ versionId }) => navigate(`/data/${versionId}`),
  })
  return (
    <Button
      disabled={rows.length === 0 || keep.isRunning}
      onClick={() => void keep.run({ ...measurement, rows })}
      title="As a new version with the column “difficulty”, by which a run can go from easy to hard"
    >
      Keep these rows
    </Button>
  )
}

interface EarlierProps {
  readonly known: readonly Summary[]
  readonly shown: string
  readonly onChoose: (id: string) => void
}

function Earlier({ known, shown, onChoose }: EarlierProps) {
  const { data: models = [] } = useAnswer('models.list', undefined)
  const { runs } = useRuns()
  const now = useNow(60_000)
  return (
    <div className="flex min-h-11 shrink-0 items-center gap-2 border-b border-line bg-panel px-6">
      <Select
        aria-label="Measurement"
        value={shown}
        options={known.map((summary) => ({
          value: summary.id,
          label: summaryWords(summary, { models, runs, now }),
        }))}
        onChange={onChoose}
        className="min-w-0 grow"
      />
    </div>
  )
}

interface Known {
  readonly models: readonly ListedModel[]
  readonly runs: readonly RunEntry[]
  readonly now: number
}

function summaryWords({ request, rows, mean, createdAt }: Summary, { models, runs, now }: Known): string {
  const { model, adapter, samplesPerRow } = request
  const choice: ModelChoice = adapter === undefined ? { model } : { model, adapter }
  return [
    choiceTitle(choice, models, runs),
    `${plural(rows, 'row')} × ${String(samplesPerRow)}`,
    `mean ${formatNumber(mean)}`,
    formatAgo(createdAt, now),
  ].join(' · ')
}

const measuredSampling = samplingSchema.pick({ temperature: true, maxNewTokens: true })

interface Measurement extends RequestSettings<typeof difficultySettings> {
  readonly choice: ModelChoice
  readonly rewards: readonly RewardChoice[]
  readonly sampling: RequestSettings<typeof measuredSampling>
}

interface DifficultyFormProps {
  readonly rows: number
  readonly isRunning: boolean
  readonly onMeasure: (measurement: Measurement) => void
  readonly onCancel: () => void
}

const defaultRewards: readonly RewardChoice[] = [{ function: 'exact-match' }]

/** Chooses the model, the rewards, and the number of samples. */
function DifficultyForm({ rows, isRunning, onMeasure, onCancel }: DifficultyFormProps) {
  const [defaultModel] = usePreviewModel()
  const [chosen, choose] = useState<ModelChoice | null>(null)
  const choice = chosen ?? (defaultModel === null ? null : { model: defaultModel })
  const [rewards, setRewards] = useSetting<readonly RewardChoice[]>('data.difficulty.rewards', defaultRewards)
  const form = useRequestForm(difficultySettings, { rows: Math.min(rows, 100) })
  const sampling = useRequestForm(measuredSampling, { maxNewTokens: 64 })
  const isReady = choice !== null && rewards.length > 0 && form.parsed !== null && sampling.parsed !== null
  const measure = () => {
    if (choice === null || form.parsed === null || sampling.parsed === null) return
    onMeasure({ choice, rewards, ...form.parsed, sampling: sampling.parsed })
  }
  return (
    <TaskForm
      {...{ isReady, isRunning, onCancel, rewards }}
      action="Measure"
      onStart={measure}
      onRewards={setRewards}
      numbers={
        <>
          <RequestFields form={form} labels={{ rows: `Sample size (of ${plural(rows, 'row')})` }} />
          <RequestFields form={sampling} />
        </>
      }
      model={
        <Field label="Model" help="A base model, or a checkpoint of a run to see what is still hard for it.">
          {(ids) => <ModelPicker {...ids} withCheckpoints value={choice} onChange={choose} />}
        </Field>
      }
    />
  )
}

import { Gauge } from 'lucide-react'
import { useState } from 'react'
import { useAnswer, type Answer } from '#renderer/client/api.tsx'
import { useNow } from '#renderer/client/live.ts'
import { useRuns, type RunEntry } from '#renderer/client/runs.ts'
import { formatAgo, formatNumber, plural } from '#renderer/client/format.ts'
import { Select } from '#renderer/kit/choices.tsx'
import { SplitPane } from '#renderer/kit/SplitPane.tsx'
import { EmptyState, ErrorNote, Loading, TaskProgress } from '#renderer/kit/states.tsx'
import { choiceTitle, type ListedModel, type ModelChoice } from '#renderer/client/modelChoice.ts'
import { useSetting } from '#renderer/client/settings.ts'
import { Field } from '#renderer/kit/Field.tsx'
import { ModelPicker } from '#renderer/parts/ModelPicker.tsx'
import type { RewardChoice } from '#renderer/parts/rewardChoice.ts'
import { useDifficulty } from '#renderer/parts/useData.ts'
import { TaskForm, useNumbers, whole } from './TaskForm.tsx'
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
        onMeasure={({ choice, rewards, samplesPerRow, ...rest }) => {
          setSamples(samplesPerRow)
          choose(null)
          task.start({ versionId, prompt, ...choice, rewards: [...rewards], samplesPerRow, ...rest })
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
          <UnderWay items={task.items} samplesPerRow={samples} />
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
  readonly samplesPerRow: number
}

function UnderWay({ items, samplesPerRow }: UnderWayProps) {
  const last = items.at(-1)
  if (last === undefined) return <Loading label="Starting the model" />
  return (
    <>
      {'progress' in last && (
        <div className="shrink-0 border-b border-line px-6 py-3">
          <TaskProgress progress={last.progress} />
        </div>
      )}
      <PassRates {...rowsSoFar(items)} samplesPerRow={samplesPerRow} />
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
      <PassRates rows={rows} problems={problems} samplesPerRow={summary.request.samplesPerRow} />
    </>
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

interface Measurement {
  readonly choice: ModelChoice
  readonly rewards: readonly RewardChoice[]
  readonly samplesPerRow: number
  readonly rows: number
  readonly sampling: { readonly temperature: number; readonly maxNewTokens: number }
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
  const { numbers, fields } = useNumbers({
    samplesPerRow: {
      ...{ label: 'Completions per row', help: 'More completions detect rarer successes.' },
      ...{ first: 4, isRight: whole(1, 64), wrong: '1 to 64' },
    },
    rows: {
      ...{
        label: `Sample size (of ${plural(rows, 'row')})`,
        help: 'Drawn at random, the same rows every time.',
      },
      ...{ first: Math.min(rows, 100), isRight: whole(1, 20_000), wrong: '1 to 20 000' },
    },
    maxNewTokens: {
      ...{ label: 'Max new tokens', help: 'In tokens.' },
      ...{ first: 64, isRight: whole(1, 32_768), wrong: '1 to 32 768' },
    },
    temperature: {
      label: 'Temperature',
      help: 'Use that of the planned run; 1 samples from the model’s own distribution.',
      ...{ first: 1, isRight: (value) => value > 0, wrong: 'Above 0' },
    },
  })
  const isReady = choice !== null && rewards.length > 0 && numbers !== null
  const measure = () => {
    if (!isReady) return
    const { samplesPerRow, rows: most, ...sampling } = numbers
    onMeasure({ choice, rewards, samplesPerRow, rows: most, sampling })
  }
  return (
    <TaskForm
      {...{ isReady, isRunning, onCancel, rewards }}
      action="Measure"
      onStart={measure}
      onRewards={setRewards}
      numbers={fields}
      model={
        <Field label="Model" help="A base model, or a checkpoint of a run to see what is still hard for it.">
          {(ids) => <ModelPicker {...ids} withCheckpoints value={choice} onChange={choose} />}
        </Field>
      }
    />
  )
}

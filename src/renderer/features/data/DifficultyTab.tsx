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
import { Button } from '#renderer/kit/Button.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { ModelPicker } from '#renderer/parts/ModelPicker.tsx'
import { RewardPicker } from '#renderer/features/rewards/RewardPicker.tsx'
import type { RewardChoice } from '#renderer/parts/rewardChoice.ts'
import { useDifficulty } from '#renderer/parts/useData.ts'
import { isWhole } from './numbers.ts'
import { usePrompt, usePreviewModel, type Opened } from './usePrompt.ts'
import { PassRates } from './PassRates.tsx'
import { rowsSoFar } from './passRates.ts'
import { NumberField } from '#renderer/kit/fields.tsx'

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
  <EmptyState icon={<Gauge size={28} strokeWidth={1.5} aria-hidden />} title="How hard are these rows?">
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
  const [samplesPerRow, setSamples] = useState<number | null>(4)
  const [most, setMost] = useState<number | null>(Math.min(rows, 100))
  const [maxNewTokens, setMaxNewTokens] = useState<number | null>(64)
  const [temperature, setTemperature] = useState<number | null>(1)
  const isReady =
    choice !== null &&
    rewards.length > 0 &&
    isWhole(samplesPerRow, 1, 64) &&
    isWhole(most, 1, 20_000) &&
    isWhole(maxNewTokens, 1, 32_768) &&
    temperature !== null &&
    temperature > 0
  const measure = () => {
    if (!isReady) return
    onMeasure({ choice, rewards, samplesPerRow, rows: most, sampling: { temperature, maxNewTokens } })
  }
  return (
    <div className="flex min-h-0 grow flex-col">
      <div className="flex min-h-0 grow flex-col gap-4 overflow-auto py-4 pr-6 pl-page">
        <Field label="Model" help="A base model, or a checkpoint of a run to see what is still hard for it.">
          {(ids) => <ModelPicker {...ids} withCheckpoints value={choice} onChange={choose} />}
        </Field>
        <div>
          <p className="flex min-h-6 items-center text-sm font-medium text-muted">Rewards</p>
          <RewardPicker value={rewards} onChange={setRewards} />
        </div>
        <div className="grid grid-cols-2 gap-3">
          <NumberField
            label="Completions per row"
            help="More completions detect rarer successes."
            error={isWhole(samplesPerRow, 1, 64) ? null : '1 to 64'}
            value={samplesPerRow}
            onChange={setSamples}
          />
          <NumberField
            label={`Sample size (of ${plural(rows, 'row')})`}
            help="Drawn at random, the same rows every time."
            error={isWhole(most, 1, 20_000) ? null : '1 to 20 000'}
            value={most}
            onChange={setMost}
          />
          <NumberField
            label="Max new tokens"
            help="In tokens."
            error={isWhole(maxNewTokens, 1, 32_768) ? null : '1 to 32 768'}
            value={maxNewTokens}
            onChange={setMaxNewTokens}
          />
          <NumberField
            label="Temperature"
            help="Use that of the planned run; 1 samples from the model’s own distribution."
            error={temperature !== null && temperature > 0 ? null : 'Above 0'}
            value={temperature}
            onChange={setTemperature}
          />
        </div>
      </div>
      <footer className="flex shrink-0 items-center gap-2 border-t border-line py-2 pr-6 pl-page">
        {isRunning ? (
          <Button onClick={onCancel}>Cancel</Button>
        ) : (
          <Button disabled={!isReady} onClick={measure}>
            Measure
          </Button>
        )}
      </footer>
    </div>
  )
}

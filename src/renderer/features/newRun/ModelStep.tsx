import type { Problem } from '#shared/errors.ts'
import { useAnswer } from '#renderer/client/api.tsx'
import { useCheckpointFolder } from './useNewRun.ts'
import { useRuns } from '#renderer/client/runs.ts'
import { formatBytes, formatCount, formatShort, lastPart } from '#renderer/client/format.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { Disclosure } from '#renderer/kit/Disclosure.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { KeyValue } from '#renderer/kit/Page.tsx'
import type { ModelChoice } from '#renderer/client/modelChoice.ts'
import { ModelPicker } from '#renderer/parts/ModelPicker.tsx'
import { valueAt, type JsonObject, isObject, withValue } from '#shared/config/paths.ts'
import { startingFrom } from './chosenRows.ts'
import { wrongWords, isMissing, problemsAt, problemWords } from './problems.ts'
import { useState, type ReactNode } from 'react'
import { Segmented } from '#renderer/kit/choices.tsx'
import {
  EnvironmentPicker,
  PythonEnvironment,
  WorkflowPicker,
} from '#renderer/features/rewards/CodePicker.tsx'
import { PythonReward, RewardPicker } from '#renderer/features/rewards/RewardPicker.tsx'
import { choiceName, type EnvironmentChoice, type RewardChoice } from '#renderer/parts/rewardChoice.ts'
import type { AlgorithmEntry } from '#renderer/client/runSettings.ts'
import { algorithmsOf } from './stages.ts'

interface ModelStepProps {
  readonly config: JsonObject
  readonly isFork: boolean
  readonly problems: readonly Problem[]
  readonly onModel: (model: string) => void
  readonly onChange: (change: (config: JsonObject) => JsonObject) => void
}

/** Chooses the model to train, and the adapter to start from. */
export function ModelStep({ config, isFork, problems, onModel, onChange }: ModelStepProps) {
  const model = typeof config['model'] === 'string' ? config['model'] : null
  const initial = valueAt(config, 'adapter.initial')
  const start = typeof initial === 'string' ? initial : null
  const { runs } = useRuns()
  const trained = start === null ? undefined : runs.find(({ directory }) => start.startsWith(directory))
  const { data: checkpoints } = useAnswer(
    'checkpoints.list',
    { runId: trained?.id ?? '' },
    { enabled: trained !== undefined },
  )
  const step = checkpoints?.find(({ directory }) => directory === start)?.step
  const adapter =
    trained !== undefined && step !== undefined
      ? { runId: trained.id, step }
      : start === null
        ? null
        : { path: start }
  const value = model === null ? null : { model, ...(adapter === null ? {} : { adapter }) }
  const startFrom = useStartFrom(onChange, onModel)
  return (
    <div className="grid gap-4">
      <Field label="Model" error={wrongWords(problems)} className="max-w-140">
        {(ids) => (
          <ModelPicker
            {...ids}
            withCheckpoints={!isFork}
            value={value}
            onChange={(choice) => void startFrom(choice)}
          />
        )}
      </Field>
      {model !== null && <ModelFactsView model={model} />}
      {start !== null && !isFork && (
        <p className="flex flex-wrap items-center gap-2 text-sm text-muted">
          The adapter begins as{' '}
          {step === undefined ? lastPart(start) : `the checkpoint of step ${String(step)}`}. Step count and
          optimizer start anew; fork the run to continue exactly.
          <Button small onClick={() => onChange((now) => startingFrom(now, undefined))}>
            Start fresh
          </Button>
        </p>
      )}
    </div>
  )
}

/** Starts from a base model, or from a run's checkpoint as the initial adapter. */
function useStartFrom(onChange: ModelStepProps['onChange'], onModel: ModelStepProps['onModel']) {
  const folderOf = useCheckpointFolder()
  return async ({ model, adapter }: ModelChoice) => {
    onModel(model)
    const initial =
      adapter === undefined
        ? undefined
        : 'path' in adapter
          ? adapter.path
          : await folderOf(adapter.runId, adapter.step)
    onChange((config) => startingFrom(config, initial))
  }
}

function ModelFactsView({ model }: { model: string }) {
  const { data, error } = useAnswer('models.info', { model })
  if (error !== null || data === undefined) return null
  return (
    <KeyValue
      className="max-w-140"
      entries={[
        [
          'Architecture',
          `${data.architecture} · ${String(data.layers)} layers of width ${formatCount(data.hiddenSize)}`,
        ],
        ['Parameters', formatShort(data.parameters)],
        ['Reads at most', `${formatCount(data.contextLength)} tokens`],
        ['On disk', `${formatBytes(data.sizeBytes)} · ${data.dtypes.join(', ')}`],
        ['Chat template', data.hasChatTemplate ? 'yes' : 'none: prompts are plain text'],
        ...(data.license === null ? [] : [['Licence', data.license.name] as const]),
      ]}
    />
  )
}

interface RewardStepProps {
  readonly config: JsonObject
  readonly algorithms: readonly AlgorithmEntry[]
  readonly problems: readonly Problem[]
  /** Columns of the rows; empty while unknown. */
  readonly columns: readonly string[]
  readonly onChange: (change: (config: JsonObject) => JsonObject) => void
}

/** Chooses who scores completions: functions, an environment that responds to them, or an agent that acts with them. */
export function RewardStep({ config, algorithms, problems, columns, onChange }: RewardStepProps) {
  const environment = isObject(config['environment']) ? config['environment'] : null
  const [isWorldWanted, setWorldWanted] = useState(false)
  const kind = hasAgent(config) ? 'agent' : environment !== null || isWorldWanted ? 'environment' : 'rewards'
  const rewards = Array.isArray(config['rewards']) ? (config['rewards'] as RewardChoice[]) : []
  const interpreter = interpreterIn(config)
  const isNeeded = algorithmsOf(config).some(
    (id) => (algorithms.find((each) => each.id === id)?.experience ?? 'rollout') === 'rollout',
  )
  const setRewards = (next: readonly RewardChoice[]) =>
    onChange((now) => withValue(now, 'rewards', next.length === 0 ? undefined : next))
  const world = {
    value: environment as EnvironmentChoice | null,
    onChange: (next: EnvironmentChoice | null) =>
      onChange((now) => withValue(now, 'environment', worldOf(environment, next))),
  }
  return (
    <div className="grid grid-cols-1 gap-4">
      <div className="flex flex-wrap items-center gap-3">
        <Segmented
          label="Where rewards come from"
          value={kind}
          options={{ rewards: 'Reward functions', environment: 'An environment', agent: 'My agent' }}
          onChange={(next) => {
            setWorldWanted(next === 'environment')
            onChange((now) => withSource(now, next))
          }}
        />
        {!isNeeded && <OnlyEvaluated />}
      </div>
      {kind === 'agent' && <AboutAgents />}
      {kind !== 'environment' ? (
        <RewardPicker
          {...{ columns, interpreter, value: rewards, problems: byEntry(problems), onChange: setRewards }}
          hasPython={false}
        />
      ) : (
        <EnvironmentPicker {...{ columns, interpreter, ...world }} hasPython={false} />
      )}
      {kind !== 'agent' && (
        <MoreWays
          {...{ config, problems, columns, onChange }}
          what={kind === 'rewards' ? 'A reward' : 'An environment'}
        >
          {kind === 'rewards' ? (
            <PythonReward
              taken={rewards.map(choiceName)}
              disabled={false}
              onAdd={(choice) => setRewards([...rewards, choice])}
            />
          ) : (
            <PythonEnvironment {...world} />
          )}
        </MoreWays>
      )}
      <GeneralProblems problems={problems} areOfWorld={kind === 'environment'} />
    </div>
  )
}

const AboutAgents = () => (
  <p className="max-w-prose text-muted text-pretty">
    A program of yours acts: it talks to the model at an OpenAI-style address, which the run’s page shows
    while it trains, and says how well it did. Rewards chosen here decide where it does not. Port and limits
    are among all settings, under “agent”.
  </p>
)

const OnlyEvaluated = () => (
  <p className="text-sm text-muted">
    The chosen method learns from given answers. Rewards only evaluate the validation split.
  </p>
)

interface MoreWaysProps extends Omit<RewardStepProps, 'algorithms'> {
  /** Kind of Python code that is offered. */
  readonly what: string
  readonly children: ReactNode
}

/** Offers Python code and a workflow; open where the config has a workflow. */
const MoreWays = ({ config, problems, columns, onChange, what, children }: MoreWaysProps) => (
  <Disclosure
    title="More ways"
    about={`${what} in Python, a workflow`}
    isNeeded={workflowOf(config) !== null}
    className="max-w-140 border-t border-line pt-3"
  >
    <div className="grid grid-cols-1 gap-4">
      {children}
      <WorkflowPicker
        columns={columns}
        value={workflowOf(config)}
        problem={wrongWords(problemsAt(problems, 'rollout.workflow'))}
        onChange={(next) => onChange((now) => withValue(now, 'rollout.workflow', next ?? undefined))}
      />
    </div>
  </Disclosure>
)

const workflowOf = (config: JsonObject): EnvironmentChoice | null => {
  const workflow = valueAt(config, 'rollout.workflow')
  return isObject(workflow) ? (workflow as unknown as EnvironmentChoice) : null
}

/** Python interpreter of the config; null: the default. */
function interpreterIn({ python }: JsonObject): string | null {
  const given = isObject(python) ? python['interpreter'] : null
  return typeof given === 'string' ? given : null
}

const hasAgent = (config: JsonObject): boolean => isObject(valueAt(config, 'rollout.agent'))

/** Removes what belongs to other sources of rewards: an agent acts in the episodes alone. */
function withSource(config: JsonObject, source: 'rewards' | 'environment' | 'agent'): JsonObject {
  const before = valueAt(config, 'rollout.agent')
  const next = withValue(config, 'rollout.agent', source === 'agent' ? (before ?? {}) : undefined)
  if (source === 'environment') return next
  const withoutWorld = withValue(next, 'environment', undefined)
  return source === 'agent' ? withValue(withoutWorld, 'rollout.workflow', undefined) : withoutWorld
}

/** Sets the environment, keeping its other settings if it is chosen again. */
const worldOf = (before: JsonObject | null, next: object | null): JsonObject | undefined =>
  next === null ? undefined : { ...before, ...next }

function byEntry(problems: readonly Problem[]): Record<number, string> {
  const entries = problems.flatMap((problem) => {
    const index = /^rewards\[(\d+)\]/.exec(problem.path)?.[1]
    return index === undefined ? [] : [[Number(index), problemWords(problem)] as const]
  })
  return Object.fromEntries(entries)
}

interface GeneralProblemsProps extends Pick<RewardStepProps, 'problems'> {
  readonly areOfWorld: boolean
}

/** Lists what is wrong with the rewards as a whole, or with the environment. */
function GeneralProblems({ problems, areOfWorld }: GeneralProblemsProps) {
  const general = problems.filter(
    (problem) => !isMissing(problem) && ['rewards', 'python'].includes(problem.path),
  )
  return [...general, ...(areOfWorld ? problemsAt(problems, 'environment') : [])].map((problem) => (
    <p key={problem.message} className="text-sm wrap-anywhere text-bad">
      {problemWords(problem)}
    </p>
  ))
}

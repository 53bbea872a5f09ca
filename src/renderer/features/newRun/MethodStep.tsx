import type { Problem } from '#shared/errors.ts'
import { Fragment, type ComponentProps } from 'react'
import type { PartProps } from './useNewRun.ts'
import {
  useMeasured,
  applied,
  changeWords,
  isActive,
  presetsFor,
  type ModelFacts,
  type Preset,
  presetSeconds,
  type Measured,
} from './presets.ts'
import { plural, formatNumber } from '#renderer/client/format.ts'
import { Disclosure } from '#renderer/kit/Disclosure.tsx'
import { Segmented } from '#renderer/kit/choices.tsx'
import { AllSettings, DraftSetting } from './AllSettings.tsx'
import { changedFields, effectiveValue, type Draft } from './draft.ts'
import { valueAt, type JsonObject } from '#shared/config/paths.ts'
import { withAlgorithm, withMethod } from './chosenRows.ts'
import { stepOf } from './problems.ts'
import { TrainedBy } from './TrainedBy.tsx'
import { algorithmOf, plannedStages, stagePlans, stagesOf, withStages } from './stages.ts'
import { StagesEditor } from './StagesEditor.tsx'
import { RadioGroup } from 'radix-ui'
import { isFile, type AlgorithmEntry } from '#renderer/client/runSettings.ts'
import { rangeWords } from '#shared/remaining.ts'
import { classes } from '#renderer/kit/classes.ts'

interface MethodStepProps extends PartProps {
  readonly model: ModelFacts | null
}

function effectiveAt(config: JsonObject, fields: MethodStepProps['known']['fields'], key: string): unknown {
  const field = fields.find((each) => each.key === key)
  return field === undefined ? undefined : effectiveValue(config, field)
}

/** Chooses algorithm, preset and the most important settings; all others are behind a button. */
export function MethodStep({ draft, known, model, problems, onChange }: MethodStepProps) {
  const { config } = draft
  const id = algorithmOf(config)
  const algorithm = known.algorithms.find((each) => each.id === id)
  const stages = stagesOf(config)
  const presets = algorithm === undefined ? [] : presetsFor(model, algorithm)
  const setConfig = (next: Draft['config']) => onChange({ ...draft, config: next })
  const choose = (next: string) =>
    setConfig(draft.fork === null ? withMethod(config, next, known) : withAlgorithm(config, next))
  const changed = changedFields(draft, known.fields).map(({ key }) => key)
  const preset = presets.find((each) => isActive(config, each))
  const measured = useMeasured({
    config,
    algorithm,
    models: known.models,
    effective: (some, key) => effectiveAt(some, known.fields, key),
  })
  return (
    <div className="grid gap-5">
      <div className="flex flex-wrap items-center gap-3">
        <Segmented
          label="Stages"
          value={stages.length === 0 ? 'one' : 'several'}
          options={{ one: 'Single stage', several: 'Multi-stage' }}
          onChange={(next) => setConfig(withStages(config, next === 'one' ? [] : firstPlan(config)))}
        />
      </div>
      {stages.length === 0 ? (
        <AlgorithmCards algorithms={known.algorithms} value={id} onChange={choose} />
      ) : (
        <StagesEditor
          {...{ stages, known, problems }}
          steps={stepsOf(config)}
          onChange={(next) => setConfig(withStages(config, next))}
        />
      )}
      {draft.fork === null && (
        <div>
          <h3 className="mb-1 text-sm font-medium text-muted">
            Begin with{model === null ? '' : ' settings for a model of this size'}
          </h3>
          <PresetCards
            {...{ config, presets, measured }}
            onChoose={(preset) => setConfig(applied(config, preset, preset))}
          />
        </div>
      )}
      <SimpleSettings draft={draft} known={known} problems={problems} onChange={onChange} />
      {draft.fork === null && <OtherTrainers {...{ draft, known, problems, onChange }} />}
      <AllSettingsPart {...{ draft, known, problems, onChange }} words={changeWords(changed, preset)} />
    </div>
  )
}

/** Offers to train elsewhere; open where the config says so. */
const OtherTrainers = (props: ComponentProps<typeof TrainedBy>) => (
  <Disclosure
    title="More ways"
    about="Train with TRL or AgileRL, in Python"
    isNeeded={valueAt(props.draft.config, 'engine') !== undefined}
    className="border-t border-line pt-3"
  >
    <TrainedBy {...props} />
  </Disclosure>
)

interface AllSettingsPartProps extends Pick<MethodStepProps, 'draft' | 'known' | 'problems' | 'onChange'> {
  /** Says how many differ from the defaults. */
  readonly words: string
}

/** Every setting, behind a button; open at once if one of them has a problem that is shown nowhere else. */
const AllSettingsPart = ({ draft, known, problems, words, onChange }: AllSettingsPartProps) => (
  <Disclosure
    title="All settings"
    about={`${plural(known.fields.length, 'setting')}, ${words}`}
    isNeeded={problems.some(isHidden)}
    className="border-t border-line pt-3"
  >
    <AllSettings draft={draft} sections={known.sections} problems={problems} onChange={onChange} />
  </Disclosure>
)

/** True for problems of settings that are visible only in the full list, which therefore must open. */
const isHidden = (problem: Problem): boolean =>
  problem.path !== '' &&
  stepOf(problem) === 'method' &&
  problem.stage === null &&
  !simpleKeys.flat().includes(problem.path)

const stepsOf = (config: Draft['config']): number =>
  typeof config['steps'] === 'number' ? config['steps'] : 60

function firstPlan(config: Draft['config']) {
  const [plan] = stagePlans
  return plan === undefined ? [] : plannedStages(plan, stepsOf(config))
}

interface AlgorithmCardsProps {
  readonly algorithms: readonly AlgorithmEntry[]
  readonly value: string
  readonly onChange: (id: string) => void
}

const kinds = [
  ['rollout', 'Reinforcement learning'],
  ['demonstrations', 'Supervised'],
  ['preferences', 'Preference'],
  ['own', 'Your losses'],
] as const

function kindOf({ id, experience }: AlgorithmEntry): (typeof kinds)[number][0] {
  if (isFile(id)) return 'own'
  return experience === 'marks' ? 'preferences' : experience
}

/** Shows all algorithms at a glance, with one sentence on the chosen one. */
function AlgorithmCards({ algorithms, value, onChange }: AlgorithmCardsProps) {
  const chosen = algorithms.find(({ id }) => id === value)
  return (
    <div className="grid gap-3">
      <RadioGroup.Root
        aria-label="Algorithm"
        value={value}
        onValueChange={onChange}
        className="grid grid-cols-[max-content_minmax(0,1fr)] items-center gap-x-4 gap-y-2 phone:grid-cols-1 phone:gap-y-1"
      >
        {kinds.map(([kind, title]) => {
          const own = algorithms.filter((algorithm) => kindOf(algorithm) === kind)
          if (own.length === 0) return null
          return (
            <Fragment key={kind}>
              <p className="text-sm text-muted">{title}</p>
              <div className="flex flex-wrap gap-1.5">
                {own.map(({ id, title: name, description }) => (
                  <RadioGroup.Item
                    key={id}
                    value={id}
                    aria-label={name}
                    title={description}
                    className="h-7 rounded border border-line px-2.5 hover:border-line-strong hover:bg-panel data-[state=checked]:border-accent data-[state=checked]:bg-accent-soft data-[state=checked]:font-medium data-[state=checked]:text-accent-ink"
                  >
                    {name}
                  </RadioGroup.Item>
                ))}
              </div>
            </Fragment>
          )
        })}
      </RadioGroup.Root>
      {chosen !== undefined && (
        <p className="text-muted text-pretty">
          <span className="font-medium text-text">{chosen.title}.</span> {chosen.description}
        </p>
      )}
    </div>
  )
}

interface PresetCardsProps {
  readonly config: JsonObject
  readonly presets: readonly Preset[]
  /** Measured duration of steps with this model; null if unknown. */
  readonly measured: Measured | null
  readonly onChoose: (preset: Preset) => void
}

function PresetCards({ config, presets, measured, onChoose }: PresetCardsProps) {
  return (
    <div role="group" aria-label="Presets" className="grid grid-cols-3 gap-2 phone:grid-cols-1">
      {presets.map((preset) => {
        const isOn = isActive(config, preset)
        const seconds = measured === null ? null : presetSeconds(preset, measured)
        return (
          <button
            key={preset.id}
            type="button"
            aria-pressed={isOn}
            onClick={() => onChoose(preset)}
            className={classes(
              'flex flex-col rounded border px-3 py-2 text-left',
              isOn ? 'border-accent bg-accent-soft' : 'border-line hover:border-line-strong hover:bg-panel',
            )}
          >
            <span className="font-medium">{preset.title}</span>
            <span className="text-sm text-muted text-pretty">{preset.description}</span>
            <span className={classes('mt-1 text-xs tabular-nums', isOn ? 'text-muted' : 'text-faint')}>
              {presetWords(preset)}
            </span>
            {seconds !== null && (
              <span
                className="text-xs text-muted tabular-nums"
                title={`As ${measured?.source ?? ''} went; the longer time is for completions that all reach the limit.`}
              >
                about {rangeWords(seconds)} on this machine
              </span>
            )}
          </button>
        )
      })}
    </div>
  )
}

/** Formats “10 steps · 4 × 4 · 16 tokens”. */
function presetWords({ values }: Preset): string {
  const value = (key: string) => Number(values[key] ?? valueAt(values, key))
  const number = (key: string) => formatNumber(value(key))
  const batch =
    values['rollout.groupSize'] === undefined
      ? plural(value('rollout.promptsPerStep'), 'row')
      : `${number('rollout.promptsPerStep')} × ${number('rollout.groupSize')}`
  const counts = [plural(value('steps'), 'step'), batch, plural(value('rollout.maxNewTokens'), 'token')]
  return counts.join(' · ')
}

/** Most important settings; alternatives cover algorithms that name the KL coefficient differently, or have none. */
const simpleKeys: readonly (readonly string[])[] = [
  ['steps'],
  ['rollout.promptsPerStep'],
  ['rollout.groupSize'],
  ['rollout.maxNewTokens'],
  ['optimization.learningRate'],
  ['algorithm.settings.klCoefficient', 'algorithm.settings.beta', 'algorithm.settings.compares'],
  ['adapter.rank'],
  ['reference.model'],
]

/** Settings that one kind of algorithm alone calls for. */
const isCalledFor = (
  key: string,
  algorithm: PartProps['known']['algorithms'][number] | undefined,
): boolean =>
  key === 'rollout.groupSize'
    ? algorithm === undefined || algorithm.experience === 'rollout'
    : key !== 'reference.model' || algorithm?.id === 'distillation'

function SimpleSettings({ draft, known, problems, onChange }: PartProps) {
  const algorithm = known.algorithms.find(({ id }) => id === algorithmOf(draft.config))
  const shown = simpleKeys
    .map((keys) => known.fields.find(({ key }) => keys.includes(key)))
    .filter((field) => field !== undefined)
    .filter(({ key }) => isCalledFor(key, algorithm))
  const isGroupSaid = typeof valueAt(draft.config, 'rollout.groupSize') === 'number'
  const notes: Readonly<Record<string, string | undefined>> = {
    'rollout.groupSize':
      isGroupSaid || algorithm === undefined ? undefined : `As it is: ${String(algorithm.groupSize.default)}`,
    'adapter.rank': draft.fork === null ? undefined : 'Fixed by the checkpoint',
    'reference.model': 'A name in Models, or a folder. One behind an address: All settings',
  }
  return (
    <div className="grid grid-cols-4 gap-x-6 narrow:grid-cols-2 gap-y-2 pl-2.5 -ml-2.5">
      {shown.map((field) => (
        <DraftSetting
          key={field.key}
          {...{ draft, field, problems, onChange }}
          note={notes[field.key]}
          disabled={draft.fork !== null && field.key === 'adapter.rank'}
        />
      ))}
    </div>
  )
}

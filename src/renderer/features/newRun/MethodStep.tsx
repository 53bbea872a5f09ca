import type { Problem } from '#shared/errors.ts'
import { useState } from 'react'
import { ChevronDown, ChevronRight } from 'lucide-react'
import type { Knowledge } from './useNewRun.ts'
import { useMeasured } from './usePresetTime.ts'
import { plural } from '#renderer/client/format.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { Segmented } from '#renderer/kit/choices.tsx'
import { AlgorithmCards } from './AlgorithmCards.tsx'
import { AllSettings } from './AllSettings.tsx'
import { changedFields, effectiveValue, type Draft } from './draft.ts'
import { withValue } from '#shared/config/paths.ts'
import { PresetCards } from './PresetCards.tsx'
import { applied, changeWords, followed, isActive, presetsFor, type ModelFacts } from './presets.ts'
import { stepOf } from './problems.ts'
import { SimpleSettings, simpleKeys } from './SimpleSettings.tsx'
import { algorithmOf, plannedStages, stagePlans, stagesOf, withStages } from './stages.ts'
import { StagesEditor } from './StagesEditor.tsx'

interface MethodStepProps {
  readonly draft: Draft
  readonly known: Knowledge
  readonly model: ModelFacts | null
  readonly problems: readonly Problem[]
  readonly onChange: (draft: Draft) => void
}

/** How the policy learns: the algorithm, a place to begin, the settings that decide most, and all the others behind a button. */
export function MethodStep({ draft, known, model, problems, onChange }: MethodStepProps) {
  const [isAllShown, setAllShown] = useState(false)
  const { config } = draft
  const id = algorithmOf(config)
  const algorithm = known.algorithms.find((each) => each.id === id)
  const stages = stagesOf(config)
  const presets = algorithm === undefined ? [] : presetsFor(model, algorithm)
  const setConfig = (next: Draft['config']) => onChange({ ...draft, config: next })
  const choose = (next: string) => {
    const after = known.algorithms.find((each) => each.id === next)
    const named = withValue(withValue(config, 'algorithm', undefined), 'algorithm.id', next)
    setConfig(
      after === undefined || draft.fork !== null ? named : followed(named, presets, presetsFor(model, after)),
    )
  }
  const changed = changedFields(draft, known.fields).map(({ key }) => key)
  const preset = presets.find((each) => isActive(config, each))
  const measured = useMeasured({
    ...{ config, algorithm, models: known.models },
    effective: (some, key) => {
      const field = known.fields.find((each) => each.key === key)
      return field === undefined ? undefined : effectiveValue(some, field)
    },
  })
  const isShown = isAllShown || problems.some(isHidden)
  const Chevron = isShown ? ChevronDown : ChevronRight
  return (
    <div className="grid gap-5">
      <div className="flex flex-wrap items-center gap-3">
        <Segmented
          label="Stages"
          value={stages.length === 0 ? 'one' : 'several'}
          options={[
            { value: 'one', label: 'Single stage' },
            { value: 'several', label: 'Multi-stage' },
          ]}
          onChange={(next) => setConfig(withStages(config, next === 'one' ? [] : firstPlan(config)))}
        />
      </div>
      {stages.length === 0 ? (
        <AlgorithmCards algorithms={known.algorithms} value={id} onChange={choose} />
      ) : (
        <StagesEditor
          stages={stages}
          known={known}
          problems={problems}
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
            config={config}
            presets={presets}
            measured={measured}
            onChoose={(preset) => setConfig(applied(config, preset, preset))}
          />
        </div>
      )}
      <SimpleSettings draft={draft} known={known} problems={problems} onChange={onChange} />
      <div className="border-t border-line pt-3">
        <Button
          variant="quiet"
          aria-expanded={isShown}
          icon={<Chevron size={14} aria-hidden />}
          onClick={() => setAllShown(!isShown)}
          className="-ml-3"
        >
          All settings
          <span className="text-faint">
            {plural(known.fields.length, 'setting')}, {changeWords(changed, preset)}
          </span>
        </Button>
        {isShown && (
          <AllSettings draft={draft} sections={known.sections} problems={problems} onChange={onChange} />
        )}
      </div>
    </div>
  )
}

/** A fault of a setting that stands among all settings only is not left for the person to find. */
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

/** Picker of a run's environment or workflow: built in, from the library, or none. */
import type { ReactNode } from 'react'
import { PythonBadge, PythonFile, PythonLine } from './PythonFile.tsx'
import { ChoiceSettings, VersionField } from './RewardPicker.tsx'
import {
  isPython,
  isServers,
  sourceOfChoice,
  type ChoiceSource,
  type EnvironmentChoice,
} from '#renderer/parts/rewardChoice.ts'
import type { GalleryEntry, Reward } from '#renderer/parts/rewardTypes.ts'
import { useAddChoice } from './useRewardChoices.ts'
import { useRewardLibrary } from './useRewards.ts'
import { SelectField } from '#renderer/kit/choices.tsx'

/** `config.environment`, or `config.rollout.workflow`; other keys are kept as they are. */
type Choice = EnvironmentChoice

interface PickerProps {
  readonly value: Choice | null
  readonly onChange: (value: Choice | null) => void
  readonly columns?: readonly string[]
  readonly problem?: string | undefined
}

interface EnvironmentPickerProps extends PickerProps {
  /** `config.python.interpreter`. */
  readonly interpreter?: string | null
  /** False where Python is offered elsewhere. */
  readonly hasPython?: boolean
}

export const EnvironmentPicker = ({
  interpreter = null,
  hasPython = true,
  ...props
}: EnvironmentPickerProps) => (
  <CodePicker
    {...props}
    kind="environment"
    label="Environment"
    help="An environment of one or several turns gives rewards; without one, completions of prompts are scored."
    none="None: completions of prompts"
    aside={
      <>
        {props.value !== null && isUnconfined(props.value.function) && (
          <PythonBadge id={props.value.function} />
        )}
        {hasPython && <PythonEnvironment {...props} />}
        {props.value !== null && isUnconfined(props.value.function) && (
          <span className="basis-full">
            <PythonLine id={props.value.function} interpreter={interpreter} />
          </span>
        )}
      </>
    }
  />
)

const isUnconfined = (id: string): boolean => isPython(id) || isServers(id)

/** Sets an environment of a Python file, or of MCP servers. */
export const PythonEnvironment = ({ value, onChange }: PickerProps) => (
  <PythonFile
    what="environment"
    example="/path/to/world.py#Class, gymnasium:ID or tools.json of MCP servers"
    isTaken={isUnconfined}
    onChoose={(id) => onChange({ ...value, function: id, settings: {} })}
  />
)

export const WorkflowPicker = (props: PickerProps) => (
  <CodePicker
    {...props}
    kind="workflow"
    label="Workflow"
    help="Code that says which requests an episode makes and what is learned from. It may bring rewards of its own."
    none="None: one completion of each prompt, or the environment"
  />
)

interface CodePickerProps extends PickerProps {
  readonly kind: 'environment' | 'workflow'
  readonly label: string
  readonly help: string
  readonly none: string
  readonly aside?: ReactNode
}

function CodePicker(props: CodePickerProps) {
  const { kind, value, onChange, columns = [], problem, label, help, none, aside } = props
  const library = useRewardLibrary([kind])
  const { addOwn, addCopy } = useAddChoice()
  const source = value === null ? null : sourceOfChoice(value.function, library.rewards, library.gallery)
  const options = optionsOf(library)
  const choose = (key: string) => {
    const { settings: _, ...rest } = value ?? { function: '' }
    const change = (id: string | null) => {
      if (id !== null) onChange({ ...rest, function: id, settings: {} })
    }
    const copied = options.copies.find((option) => option.value === key)
    if (key === '') onChange(null)
    else if (copied !== undefined) void addCopy(copied.entry).then(change)
    else if (options.builtIn.some((option) => option.value === key)) change(key)
    else void addOwn(key).then(change)
  }
  return (
    <div className="flex flex-col gap-2">
      <SelectField
        label={label}
        note={source?.kind === 'builtin' ? source.entry.description : undefined}
        help={help}
        error={problem}
        value={chosenKey(source)}
        options={[
          { value: '', label: none },
          ...options.own,
          ...options.builtIn,
          ...options.copies,
          ...(source?.kind === 'file' ? [{ value: source.path, label: source.path }] : []),
        ]}
        onChange={choose}
      />
      {(aside !== undefined || source?.kind === 'own') && (
        <span className="flex min-w-0 flex-wrap items-center gap-2">
          {source?.kind === 'own' && value !== null && (
            <VersionField
              source={source}
              choice={value}
              disabled={false}
              onChange={(next) => next !== null && onChange({ ...value, function: next.function })}
            />
          )}
          {aside}
        </span>
      )}
      {source !== null && value !== null && (
        <ChoiceSettings
          source={source}
          values={value.settings ?? {}}
          columns={columns}
          onChange={(settings) => onChange({ ...value, settings })}
        />
      )}
    </div>
  )
}

function chosenKey(source: ChoiceSource | null): string {
  if (source === null) return ''
  if (source.kind === 'own') return source.reward.id
  return source.kind === 'builtin' ? source.entry.id : source.path
}

/** Returns custom ones with a saved version, built-in functions, and gallery code, which is copied when chosen. */
const optionsOf = ({ rewards, gallery }: Library) => ({
  own: rewards.filter(({ versions }) => versions > 0).map(({ id, name }) => ({ value: id, label: name })),
  builtIn: gallery
    .filter(({ code }) => code === null)
    .map(({ id, title }) => ({ value: id, label: `${title} (built-in)` })),
  copies: gallery
    .filter(({ code }) => code !== null)
    .map((entry) => ({ value: `gallery.${entry.id}`, label: `Copy of ${entry.title}`, entry })),
})

interface Library {
  readonly rewards: readonly Reward[]
  readonly gallery: readonly GalleryEntry[]
}

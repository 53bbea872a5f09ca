import type { Problem } from '#shared/errors.ts'
import { useState } from 'react'
import { Segmented } from '#renderer/kit/choices.tsx'
import { EnvironmentPicker } from '#renderer/features/rewards/EnvironmentPicker.tsx'
import type { EnvironmentChoice, RewardChoice } from '#renderer/features/rewards/rewardChoice.ts'
import { RewardPicker } from '#renderer/features/rewards/RewardPicker.tsx'
import type { AlgorithmEntry } from '#renderer/client/runSettings.ts'
import { isObject, withValue, type JsonObject } from '#shared/config/paths.ts'
import { isMissing, problemsAt, problemWords } from './problems.ts'
import { algorithmsOf } from './stages.ts'

interface RewardStepProps {
  readonly config: JsonObject
  readonly algorithms: readonly AlgorithmEntry[]
  readonly problems: readonly Problem[]
  /** Of the rows; empty where they are not known. */
  readonly columns: readonly string[]
  readonly onChange: (change: (config: JsonObject) => JsonObject) => void
}

/** What completions earn: functions that score them, or a world that answers them. */
export function RewardStep({ config, algorithms, problems, columns, onChange }: RewardStepProps) {
  const environment = isObject(config['environment']) ? config['environment'] : null
  const [isWorldWanted, setWorldWanted] = useState(false)
  const kind = environment !== null || isWorldWanted ? 'environment' : 'rewards'
  const rewards = Array.isArray(config['rewards']) ? (config['rewards'] as RewardChoice[]) : []
  const general = problems.filter((problem) => !isMissing(problem) && problem.path === 'rewards')
  const isNeeded = algorithmsOf(config).some(
    (id) => (algorithms.find((each) => each.id === id)?.experience ?? 'rollout') === 'rollout',
  )
  return (
    <div className="grid gap-4">
      <div className="flex flex-wrap items-center gap-3">
        <Segmented
          label="Where rewards come from"
          value={kind}
          options={[
            { value: 'rewards', label: 'Reward functions' },
            { value: 'environment', label: 'An environment' },
          ]}
          onChange={(next) => {
            setWorldWanted(next === 'environment')
            if (next === 'rewards') onChange(withoutWorld)
          }}
        />
        {!isNeeded && (
          <p className="text-sm text-muted">
            The chosen method learns from given answers. Rewards only evaluate the validation split.
          </p>
        )}
      </div>
      {kind === 'rewards' ? (
        <RewardPicker
          value={rewards}
          problems={byEntry(problems)}
          columns={columns}
          onChange={(next) =>
            onChange((now) => withValue(now, 'rewards', next.length === 0 ? undefined : next))
          }
        />
      ) : (
        <EnvironmentPicker
          columns={columns}
          value={environment as EnvironmentChoice | null}
          onChange={(next) => onChange((now) => withValue(now, 'environment', worldOf(environment, next)))}
        />
      )}
      {[...general, ...(kind === 'environment' ? problemsAt(problems, 'environment') : [])].map((problem) => (
        <p key={problem.message} className="text-sm text-bad">
          {problemWords(problem)}
        </p>
      ))}
    </div>
  )
}

const withoutWorld = (config: JsonObject): JsonObject => withValue(config, 'environment', undefined)

/** Its other settings stay when it is chosen again. */
const worldOf = (before: JsonObject | null, next: object | null): JsonObject | undefined =>
  next === null ? undefined : { ...before, ...next }

function byEntry(problems: readonly Problem[]): Record<number, string> {
  const entries = problems.flatMap((problem) => {
    const index = /^rewards\[(\d+)\]/.exec(problem.path)?.[1]
    return index === undefined ? [] : [[Number(index), problemWords(problem)] as const]
  })
  return Object.fromEntries(entries)
}

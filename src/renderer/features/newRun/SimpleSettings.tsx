import type { Problem } from '#shared/errors.ts'
import type { Knowledge } from './useNewRun.ts'
import { DraftSetting } from './AllSettings.tsx'
import type { Draft } from './draft.ts'
import { valueAt } from '#shared/config/paths.ts'
import { algorithmOf } from './stages.ts'

/** Those that decide most; the KL coefficient is called differently by some algorithms. */
export const simpleKeys: readonly (readonly string[])[] = [
  ['steps'],
  ['rollout.promptsPerStep'],
  ['rollout.groupSize'],
  ['rollout.maxNewTokens'],
  ['optimization.learningRate'],
  ['algorithm.settings.klCoefficient', 'algorithm.settings.beta'],
  ['adapter.rank'],
]

interface SimpleSettingsProps {
  readonly draft: Draft
  readonly known: Knowledge
  readonly problems: readonly Problem[]
  readonly onChange: (draft: Draft) => void
}

export function SimpleSettings({ draft, known, problems, onChange }: SimpleSettingsProps) {
  const algorithm = known.algorithms.find(({ id }) => id === algorithmOf(draft.config))
  const isRollout = algorithm === undefined || algorithm.experience === 'rollout'
  const shown = simpleKeys
    .map((keys) => known.fields.find(({ key }) => keys.includes(key)))
    .filter((field) => field !== undefined)
    .filter(({ key }) => isRollout || key !== 'rollout.groupSize')
  const isGroupSaid = typeof valueAt(draft.config, 'rollout.groupSize') === 'number'
  const notes: Readonly<Record<string, string | undefined>> = {
    'rollout.groupSize':
      isGroupSaid || algorithm === undefined ? undefined : `As it is: ${String(algorithm.groupSize.default)}`,
    'adapter.rank': draft.fork === null ? undefined : 'Fixed by the checkpoint',
  }
  return (
    <div className="grid grid-cols-4 gap-x-6 narrow:grid-cols-2 gap-y-2 pl-2.5 -ml-2.5">
      {shown.map((field) => (
        <DraftSetting
          key={field.key}
          draft={draft}
          field={field}
          problems={problems}
          onChange={onChange}
          note={notes[field.key]}
          disabled={draft.fork !== null && field.key === 'adapter.rank'}
        />
      ))}
    </div>
  )
}

import { Fragment } from 'react'
import { RadioGroup } from 'radix-ui'
import type { AlgorithmEntry } from '#renderer/client/runSettings.ts'

interface AlgorithmCardsProps {
  readonly algorithms: readonly AlgorithmEntry[]
  readonly value: string
  readonly onChange: (id: string) => void
}

const kinds = [
  ['rollout', 'Reinforcement learning'],
  ['demonstrations', 'Supervised'],
  ['preferences', 'Preference'],
] as const

/** How the policy learns: all there are at a glance, and in one sentence what the chosen one does. */
export function AlgorithmCards({ algorithms, value, onChange }: AlgorithmCardsProps) {
  const chosen = algorithms.find(({ id }) => id === value)
  return (
    <div className="grid gap-3">
      <RadioGroup.Root
        aria-label="Algorithm"
        value={value}
        onValueChange={onChange}
        className="grid grid-cols-[max-content_minmax(0,1fr)] items-center gap-x-4 gap-y-2 phone:grid-cols-1 phone:gap-y-1"
      >
        {kinds.map(([experience, title]) => {
          const own = algorithms.filter((algorithm) => algorithm.experience === experience)
          if (own.length === 0) return null
          return (
            <Fragment key={experience}>
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

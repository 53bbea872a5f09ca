import { RadioGroup } from 'radix-ui'
import { classes } from '../base/classes.ts'
import type { AlgorithmEntry } from './algorithmFields.ts'

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

/** How the policy learns, one sentence each. */
export function AlgorithmCards({ algorithms, value, onChange }: AlgorithmCardsProps) {
  return (
    <RadioGroup.Root
      aria-label="Algorithm"
      value={value}
      onValueChange={onChange}
      className="grid grid-cols-2 gap-x-2 gap-y-3 phone:grid-cols-1"
    >
      {kinds.map(([experience, title]) => {
        const own = algorithms.filter((algorithm) => algorithm.experience === experience)
        if (own.length === 0) return null
        return (
          <div key={experience} className={experience === 'rollout' ? 'col-span-full' : undefined}>
            <p className="mb-1 text-sm text-faint">{title}</p>
            <div
              className={classes('grid gap-2', experience === 'rollout' && 'grid-cols-4 narrow:grid-cols-2')}
            >
              {own.map(({ id, title: name, description }) => (
                <RadioGroup.Item
                  key={id}
                  value={id}
                  aria-label={name}
                  title={description}
                  className="flex flex-col justify-start rounded border border-line px-2.5 py-2 text-left hover:border-line-strong hover:bg-panel data-[state=checked]:border-accent data-[state=checked]:bg-accent-soft"
                >
                  <span className="font-medium">{name}</span>
                  <span className="text-sm text-muted text-pretty">{description}</span>
                </RadioGroup.Item>
              ))}
            </div>
          </div>
        )
      })}
    </RadioGroup.Root>
  )
}

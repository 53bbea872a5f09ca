import { Segmented } from './choices.tsx'

export type Place = 'machine' | 'address'

interface ModelPlaceProps {
  /** Question such as “Where the judge is”. */
  readonly label: string
  readonly value: Place
  readonly onChange: (place: Place) => void
}

/** Chooses between a local model and one behind an address. */
export const ModelPlace = ({ label, ...choice }: ModelPlaceProps) => (
  <div className="flex flex-col items-start gap-1">
    <span className="text-sm font-medium text-muted">{label}</span>
    <Segmented
      label={label}
      options={{ machine: 'On this machine', address: 'Behind an address' }}
      {...choice}
    />
  </div>
)

import { Segmented } from './choices.tsx'

export type Place = 'machine' | 'address'

interface ModelPlaceProps {
  /** “Where the judge is”. */
  readonly label: string
  readonly value: Place
  readonly onChange: (place: Place) => void
}

/** Whether a model that is asked runs here or behind an address. */
export const ModelPlace = ({ label, ...choice }: ModelPlaceProps) => (
  <div className="flex flex-col items-start gap-1">
    <span className="text-sm font-medium text-muted">{label}</span>
    <Segmented
      label={label}
      options={[
        { value: 'machine', label: 'On this machine' },
        { value: 'address', label: 'Behind an address' },
      ]}
      {...choice}
    />
  </div>
)

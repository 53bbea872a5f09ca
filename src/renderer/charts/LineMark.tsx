interface LineMarkProps {
  readonly color: string
  readonly dash?: string | undefined
  readonly isThick?: boolean
}

/** A piece of a line as it is drawn: colour, dash, thickness. */
export const LineMark = ({ color, dash, isThick = false }: LineMarkProps) => (
  <svg width={16} height={8} aria-hidden className="shrink-0">
    <path d="M0 4H16" stroke={color} strokeWidth={isThick ? 3 : 2} strokeDasharray={dash} />
  </svg>
)

import { heatSpecs, legendOf, type HeatScale } from './heat.ts'

/** What the colours mean, from one end to the other. */
export function HeatLegend({ scale }: { scale: HeatScale }) {
  const words = legendOf(scale)
  const [low, middle, high] = words.length === 3 ? words : [words[0], null, words[1]]
  const background = scale.isSigned
    ? 'linear-gradient(to right, rgb(var(--heat-negative) / 0.5), transparent 50%, rgb(var(--heat-positive) / 0.5))'
    : 'linear-gradient(to right, transparent, rgb(var(--heat-one) / 0.5))'
  return (
    <figure
      aria-label={`Colours of ${heatSpecs[scale.value].title.toLowerCase()}: ${words.join(', ')}`}
      className="inline-flex items-center gap-1.5 font-mono text-xs text-muted tabular-nums"
    >
      <span>{low}</span>
      <span aria-hidden className="relative h-3 w-20 rounded-sm border border-line" style={{ background }}>
        {scale.isSigned && (
          <>
            <span className="absolute inset-x-0.5 bottom-0 mr-auto w-[42%] border-b-2 border-dotted border-[rgb(var(--heat-negative))]" />
            <span className="absolute right-0.5 bottom-0 w-[42%] border-b-2 border-[rgb(var(--heat-positive))]" />
          </>
        )}
      </span>
      <span>{high}</span>
      {middle !== null && <span className="sr-only">{middle} in the middle</span>}
    </figure>
  )
}

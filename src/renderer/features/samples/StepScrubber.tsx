interface Props {
  /** That have samples, in order. */
  readonly steps: readonly number[]
  readonly step: number | null
  /** Last step of the run; null: not known. */
  readonly last: number | null
  readonly onStep: (step: number) => void
}

/** Moves through the steps that have samples; the whole page follows. */
export function StepScrubber({ steps, step, last, onStep }: Props) {
  const place = step === null ? 0 : Math.max(0, steps.indexOf(step))
  const words =
    step === null
      ? 'No step has samples'
      : `Step ${String(step)}${last === null ? '' : ` of ${String(last)}`}`
  return (
    <>
      <input
        type="range"
        aria-label="Step"
        aria-valuetext={words}
        min={0}
        max={Math.max(0, steps.length - 1)}
        step={1}
        value={place}
        disabled={steps.length < 2}
        onChange={(event) => {
          const next = steps[Number(event.target.value)]
          if (next !== undefined) onStep(next)
        }}
        className="h-6 min-w-24 grow accent-accent"
      />
      <span className="min-w-24 pl-1 text-right font-medium whitespace-nowrap tabular-nums">
        {step === null ? (
          <span className="font-normal text-muted">No samples</span>
        ) : (
          <>
            Step {step}
            {last !== null && <span className="font-normal text-muted">/{last}</span>}
          </>
        )}
      </span>
    </>
  )
}

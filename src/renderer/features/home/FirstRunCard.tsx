import { useAddFile } from '#renderer/client/adding.ts'
import { useSampleRun } from './useSampleRun.ts'
import { Button } from '#renderer/kit/Button.tsx'

/** As the sample’s eval reward rose when it was trained with seed 1: what to expect, not a result. */
const expected = [0.316, 0.34, 0.41, 0.52, 0.63, 0.71, 0.77, 0.81, 0.845, 0.86, 0.87, 0.877]

/** All there is before the first run. */
export function FirstRunCard() {
  const { start, isStarting } = useSampleRun()
  const { chooseAndAdd } = useAddFile()
  return (
    <section className="mx-auto mt-[14vh] flex w-110 max-w-full flex-col gap-4 rounded border border-line bg-bg p-6">
      <h2 className="text-xl font-semibold text-balance">Train a small model now</h2>
      <p className="text-muted text-pretty">
        About a minute, no internet. The task: short exercises such as “Please add 42 and 45” or “Sort 8 0 5
        7”, to be answered with the bare result. A small language model learns it; you watch its reward rise.
      </p>
      <ExpectedCurve />
      <Button variant="primary" disabled={isStarting} onClick={start} className="h-9 w-full text-lg">
        {isStarting ? 'Starting' : 'Start the first run'}
      </Button>
      <p className="text-center text-muted">
        or drop a data set anywhere, or{' '}
        <button type="button" onClick={chooseAndAdd} className="text-accent-ink underline underline-offset-2">
          choose a file
        </button>
      </p>
    </section>
  )
}

const [width, height] = [398, 96]

function ExpectedCurve() {
  const x = (i: number) => 1 + (i * (width - 2)) / (expected.length - 1)
  const y = (value: number) => height - 4 - value * (height - 12)
  const line = expected
    .map((value, i) => `${i === 0 ? 'M' : 'L'}${x(i).toFixed(1)} ${y(value).toFixed(1)}`)
    .join('')
  return (
    <figure className="m-0">
      <svg
        viewBox={`0 0 ${String(width)} ${String(height)}`}
        role="img"
        aria-label="Expected reward over the run: from 0.32 to 0.88"
      >
        <path
          d={`${line}L${String(width - 1)} ${String(height)}L1 ${String(height)}Z`}
          fill="var(--accent-soft)"
        />
        <path d={line} fill="none" stroke="var(--accent)" strokeWidth={1.5} strokeDasharray="5 3" />
      </svg>
      <figcaption className="flex justify-between text-xs text-faint tabular-nums">
        <span>reward 0.32 at the start</span>
        <span>about 0.88 after 30 steps</span>
      </figcaption>
    </figure>
  )
}

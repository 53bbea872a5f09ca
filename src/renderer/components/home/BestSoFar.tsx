import { useMemo } from 'react'
import { formatNumber, plural } from '#renderer/format.ts'
import { link } from '#renderer/hooks/route.ts'
import { useRunStyles, type RunEntry } from '#renderer/hooks/runs.ts'
import { runTitle } from '#renderer/words.ts'
import { Panel } from '../base/Panel.tsx'
import { Tooltip } from '../base/Tooltip.tsx'
import { bestSoFar, type BestPoint } from './bestSoFar.ts'

const height = 132
const margin = { top: 10, bottom: 10, left: 36, right: 12 }

/** Every run’s eval reward in the order they were made, with the best so far as a staircase. */
export function BestSoFar({ runs }: { runs: readonly RunEntry[] }) {
  const points = useMemo(() => bestSoFar(runs), [runs])
  const record = points.findLast(({ isRecord }) => isRecord)
  if (record === undefined) return null
  return (
    <Panel
      title="Best eval reward so far"
      actions={
        <span className="pr-1 text-sm text-muted tabular-nums">
          <span className="font-medium text-text">{formatNumber(record.best)}</span> by {runTitle(record.run)}{' '}
          · {plural(points.length, 'run')}
        </span>
      }
    >
      <Staircase points={points} />
    </Panel>
  )
}

function Staircase({ points }: { points: readonly BestPoint[] }) {
  const styleOf = useRunStyles()
  const values = points.map(({ reward }) => reward)
  const [lowest, highest] = [Math.min(...values), Math.max(...values)]
  const air = Math.max(0.02, (highest - lowest) * 0.15)
  const [low, high] = [lowest - air, highest + air]
  const x = (i: number) => (100 * (i + 0.5)) / points.length
  const y = (value: number) => (100 * (high - value)) / (high - low)
  const steps = points.map(({ best }, i) =>
    i === 0 ? `M${String(x(0))} ${String(y(best))}` : `H${String(x(i))}V${String(y(best))}`,
  )
  return (
    <div className="relative" style={{ height }}>
      <div
        className="absolute text-xs text-faint tabular-nums"
        style={{ inset: `${String(margin.top)}px auto ${String(margin.bottom)}px 0`, width: margin.left - 8 }}
      >
        <span className="absolute top-0 right-0 -translate-y-1/2">{formatNumber(high)}</span>
        <span className="absolute right-0 bottom-0 translate-y-1/2">{formatNumber(low)}</span>
      </div>
      <div
        className="absolute"
        style={{
          inset: `${String(margin.top)}px ${String(margin.right)}px ${String(margin.bottom)}px ${String(margin.left)}px`,
        }}
      >
        <svg
          viewBox="0 0 100 100"
          preserveAspectRatio="none"
          aria-hidden
          className="absolute inset-0 size-full overflow-visible"
        >
          <path d="M0 0H100M0 50H100M0 100H100" stroke="var(--line)" vectorEffect="non-scaling-stroke" />
          <path
            d={`${steps.join('')}H100`}
            fill="none"
            stroke="var(--faint)"
            strokeWidth={1.5}
            vectorEffect="non-scaling-stroke"
          />
        </svg>
        {points.map(({ run, reward, isRecord }, i) => (
          <Tooltip key={run.id} text={`${runTitle(run)}: ${formatNumber(reward)}`}>
            <a
              href={link(`/runs/${run.id}/overview`)}
              aria-label={`${runTitle(run)}, eval reward ${formatNumber(reward)}`}
              className="absolute inline-flex size-6 -translate-1/2 items-center justify-center rounded-full"
              style={{ left: `${String(x(i))}%`, top: `${String(y(reward))}%` }}
            >
              <span
                className="block rounded-full border-2 bg-bg"
                style={{
                  width: isRecord ? 12 : 9,
                  height: isRecord ? 12 : 9,
                  borderColor: styleOf(run.id).color,
                  background: isRecord ? styleOf(run.id).color : undefined,
                }}
              />
            </a>
          </Tooltip>
        ))}
      </div>
    </div>
  )
}

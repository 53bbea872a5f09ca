import { ChevronDown, ChevronRight } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { useSize } from '#renderer/charts/useSize.ts'
import type { PlannedChart } from './chartPlan.ts'

const mostBeside = 5
/** So that a title can be read. */
const narrowest = 196
const gap = 12

/** Rows of about equally many, each as wide as the page. */
export function SmallCharts({ children }: { children: readonly ReactNode[] }) {
  const { size, setElement } = useSize()
  if (children.length === 0) return null
  const fitting = Math.floor(((size?.width ?? 0) + gap) / (narrowest + gap))
  const most = Math.max(1, Math.min(mostBeside, fitting))
  const beside = Math.ceil(children.length / Math.ceil(children.length / most))
  return (
    <div ref={setElement} className="flex flex-wrap gap-3">
      {children.map((child, i) => (
        <div
          key={i}
          className="flex min-w-0 grow [&>*]:grow"
          style={{ flexBasis: `calc(${String(100 / beside)}% - ${String(gap)}px)` }}
        >
          {child}
        </div>
      ))}
    </div>
  )
}

interface FlatChartsProps {
  readonly flat: readonly { readonly chart: PlannedChart; readonly value: string }[]
  readonly children: (chart: PlannedChart) => ReactNode
}

/** Charts that never moved: their names and values in one line, drawn when someone asks. */
export function FlatCharts({ flat, children }: FlatChartsProps) {
  const [isOpen, setOpen] = useState(false)
  if (flat.length === 0) return null
  const Chevron = isOpen ? ChevronDown : ChevronRight
  return (
    <section aria-label="Flat charts" className="flex min-w-0 flex-col gap-3">
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
        className="flex min-h-9 flex-wrap items-center gap-x-4 rounded border border-line py-1 pr-3 pl-2 text-left hover:bg-panel"
      >
        <span className="inline-flex items-center gap-1.5 text-muted">
          <Chevron size={14} aria-hidden className="text-faint" />
          Flat:
        </span>
        {flat.map(({ chart, value }) => (
          <span key={chart.id} className="inline-flex items-baseline gap-1.5">
            {chart.title}
            <span className="font-mono text-sm text-muted tabular-nums">
              {value}
              {chart.unit !== undefined && ` ${chart.unit}`}
            </span>
          </span>
        ))}
      </button>
      {isOpen && <SmallCharts>{flat.map(({ chart }) => children(chart))}</SmallCharts>}
    </section>
  )
}

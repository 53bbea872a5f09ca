import { useDeferredValue, useMemo, useState, type ReactNode } from 'react'
import { classes } from '#renderer/kit/classes.ts'
import { Help } from '#renderer/kit/Tooltip.tsx'
import { MoreMenu } from '#renderer/kit/Menu.tsx'
import { csvOf } from '#shared/csv.ts'
import { fileNameOf, saveText } from '#renderer/client/download.ts'
import { axisNumber3, readNumber, xAxisSpecs, type Range, type ScaleKind, type XAxis } from './axes.ts'
import { useGroup } from './CursorGroup.tsx'
import { LinePlot } from './LinePlot.tsx'
import type { ChartEvent, ChartLine } from './lines.ts'
import { LineMark } from './marks.tsx'
import { pictureOf, savePng, saveSvg } from './pictures.tsx'
import { inReadingOrder, plotOf, type Plot } from './plot.ts'
import { indexNear, lineFacts, tableRows, textSummary, type Better } from './reading.ts'
import { inUnit, linesInUnit, titleWithUnit } from './units.ts'
import { useIsNear, useSize } from './useSize.ts'
import { type Action } from '#renderer/kit/actions.tsx'

export interface MetricChartProps {
  readonly title: string
  readonly help?: ReactNode
  /** Unit as in charts/units.ts: fractions are passed as fractions and drawn in percent. */
  readonly unit?: string | undefined
  readonly better?: Better
  readonly lines: readonly ChartLine[]
  /** Lines drawn only while highlighted (`front.tsx`), in place of lines of the same id. */
  readonly others?: readonly ChartLine[]
  /** Announces the first value: “First evaluation at step 20.” */
  readonly emptyText: string
  readonly xAxis?: XAxis
  readonly smoothing?: number | 'auto'
  readonly scale?: ScaleKind
  /** Values that are always in view, such as 0 and 1 for fractions. */
  readonly include?: readonly number[]
  readonly events?: readonly ChartEvent[]
  /** X range when not zoomed, shared by all panels of a group. Default: all values. */
  readonly xRange?: Range | null | undefined
  /** True lets a few outliers leave the panel. */
  readonly clipsSpikes?: boolean
  /** Least height of the plot in px; it takes what a taller neighbour in the row leaves. */
  readonly height?: number
  /** Lists the names of the lines below the plot. Default: only with several lines. */
  readonly hasLegend?: boolean
  /** Shows the last and best value beside the title. Default: only with a single line. */
  readonly hasFacts?: boolean
  /** Loads the full series for the CSV file. Default: the values drawn. */
  readonly fullCsv?: () => Promise<string>
  readonly menu?: readonly Action[]
  readonly className?: string
}

/** One panel: lines over steps, time, tokens or trajectories, with the cursor and zoom of the surrounding group. */
export function MetricChart(given: MetricChartProps) {
  const props = useInUnit(given)
  const {
    title,
    lines,
    unit,
    better = 'none',
    xAxis = 'step',
    smoothing = 'auto',
    scale = 'linear',
    height = 180,
  } = props
  const group = useGroup()
  const { isLive } = group
  const [isTable, setTable] = useState(false)
  const { include, events, xRange = null, clipsSpikes = false } = props
  const zoom = useDeferredValue(group.zoom) ?? xRange
  const plot = useMemo(
    () =>
      plotOf(lines, {
        xAxis,
        smoothing,
        scale,
        zoom,
        include,
        events,
        clipsSpikes,
        isLive,
        tickCount: height < 140 ? 3 : 4,
      }),
    [lines, xAxis, smoothing, scale, zoom, include, events, clipsSpikes, isLive, height],
  )
  const summary = useMemo(
    () => textSummary(lines, { title: titleWithUnit(title, unit), better, xAxis }),
    [lines, title, unit, better, xAxis],
  )
  return (
    <section
      aria-label={title}
      data-chart={title}
      className={classes(
        '@container flex min-w-0 flex-col rounded border border-line bg-bg',
        props.className,
      )}
    >
      <ChartHeader {...props} plot={plot} isTable={isTable} onTable={() => setTable(!isTable)} />
      <p className="sr-only">{summary}</p>
      {plot === null && <EmptyPlot text={props.emptyText} height={height} />}
      {plot !== null && isTable && <PlotTable title={title} plot={plot} height={height} />}
      {plot !== null && !isTable && (
        <VisiblePlot {...{ plot, height, group }} label={summary} others={props.others ?? noLines} />
      )}
      {plot !== null && (props.hasLegend ?? lines.length > 1) && <Legend plot={plot} />}
    </section>
  )
}

/** Converts lines and `include` to the unit they are drawn in. */
function useInUnit(given: MetricChartProps): MetricChartProps {
  const { lines, include, unit } = given
  const shown = useMemo(() => linesInUnit(lines, unit), [lines, unit])
  const others = useMemo(() => linesInUnit(given.others ?? noLines, unit), [given.others, unit])
  const inView = useMemo(() => include?.map((value) => inUnit(value, unit)), [include, unit])
  return { ...given, lines: shown, others, ...(inView && { include: inView }) }
}

const noLines: readonly ChartLine[] = []

interface PlotProps {
  readonly label: string
  readonly plot: Plot
  readonly others: readonly ChartLine[]
  /** The least, in px. */
  readonly height: number
  readonly group: ReturnType<typeof useGroup>
}

/** Draws nothing while far outside of the viewport. */
function VisiblePlot({ label, plot, others, height: minHeight, group }: PlotProps) {
  const { size, element, setElement } = useSize()
  const isNear = useIsNear(element)
  const { width, height } = size ?? { width: 0, height: minHeight }
  return (
    <div ref={setElement} className="relative min-w-0 grow" style={{ minHeight }}>
      {isNear && width > 0 && (
        <LinePlot label={label} plot={plot} others={others} width={width} height={height} group={group} />
      )}
    </div>
  )
}

/** Shows the same numbers as a table of at most fifty evenly spaced rows. */
function PlotTable({ title, plot, height }: { title: string; plot: Plot; height: number }) {
  const longest = plot.lines.toSorted((a, b) => b.points.length - a.points.length)[0]
  const [low, high] = plot.x
  const rows = tableRows(longest?.points.filter(({ endX }) => endX >= low && endX <= high) ?? [])
  const { label, write } = xAxisSpecs[plot.xAxis]
  return (
    <div
      className="grow overflow-auto px-3 pb-2"
      style={{ height }}
      tabIndex={0}
      role="group"
      aria-label={`${title} as a table`}
    >
      <table className="w-full text-sm tabular-nums">
        <thead className="sticky top-0 bg-bg text-left text-muted">
          <tr>
            <th scope="col" className="pr-3 font-medium">
              {label}
            </th>
            {plot.lines.map((line) => (
              <th key={line.id} scope="col" className="max-w-40 truncate pr-3 text-right font-medium">
                {line.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="font-mono">
          {rows.map(({ endX }) => (
            <tr key={endX} className="border-t border-line">
              <th scope="row" className="pr-3 text-left font-normal text-muted">
                {write(endX)}
              </th>
              {plot.lines.map(({ id, points }) => {
                const point = points[indexNear(points, endX, (high - low) / 1000)]
                return (
                  <td key={id} className="pr-3 text-right">
                    {point ? axisNumber3(point.last) : '–'}
                  </td>
                )
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

const EmptyPlot = ({ text, height }: { text: string; height: number }) => (
  <div
    className="flex grow items-center justify-center px-6 text-center text-sm text-faint text-pretty"
    style={{ height }}
  >
    {text}
  </div>
)

/** Largest number of names in the legend; more would take more room than the plot. */
const maxNamed = 8

const Legend = ({ plot }: { plot: Plot }) => (
  <ul className="flex flex-wrap gap-x-3 px-3 pb-2 text-sm text-muted">
    {inReadingOrder(plot.lines)
      .slice(0, maxNamed)
      .map(({ id, label, color, dash, isBaseline }) => (
        <li key={id} className="flex min-w-0 items-center gap-1.5">
          <LineMark color={color} dash={dash} isThick={isBaseline} />
          <span className="max-w-56 truncate">{label}</span>
        </li>
      ))}
    {plot.lines.length > maxNamed && <li>and {plot.lines.length - maxNamed} more</li>}
  </ul>
)

interface HeaderProps extends MetricChartProps {
  readonly plot: Plot | null
  readonly isTable: boolean
  readonly onTable: () => void
}

function ChartHeader(props: HeaderProps) {
  const { title, unit, help, plot, isTable, onTable, lines, better = 'none' } = props
  const [line] = lines
  const facts = (props.hasFacts ?? lines.length === 1) && line ? lineFacts(line.points, better) : null
  const table = { label: 'Show as table', checked: isTable, run: onTable }
  const groups = plot ? [[table], saveItems(props, plot), props.menu ?? []] : [props.menu ?? []]
  return (
    <header className="flex min-h-9 shrink-0 items-center gap-x-1.5 pr-1.5 pl-3">
      <h3 className="min-w-0 truncate font-medium" title={title}>
        {title}
      </h3>
      {unit !== undefined && <span className="shrink-0 text-sm text-faint">{unit}</span>}
      {help !== undefined && <Help about={title}>{help}</Help>}
      {facts && (
        <span className="ml-auto shrink-0 truncate font-mono text-sm tabular-nums text-text">
          {readNumber(facts.last)}
          {facts.best && (
            <span className="text-faint @max-[360px]:hidden">
              {'  '}best {readNumber(facts.best.value)} @ {facts.best.step}
            </span>
          )}
        </span>
      )}
      {groups.some(({ length }) => length > 0) && (
        <span className={classes('shrink-0', facts === null && 'ml-auto')}>
          <MoreMenu small label={`More about ${title}`} groups={groups} />
        </span>
      )}
    </header>
  )
}

function saveItems({ title: name, unit, lines, fullCsv }: MetricChartProps, plot: Plot): readonly Action[] {
  const title = titleWithUnit(name, unit)
  const file = fileNameOf(name)
  return [
    {
      label: 'Save as PNG',
      run: () => void pictureOf(plot, title).then((picture) => savePng(picture, `${file}.png`)),
    },
    {
      label: 'Save as SVG',
      run: () => void pictureOf(plot, title).then((picture) => saveSvg(picture, `${file}.svg`)),
    },
    {
      label: 'Save all values as CSV',
      run: () =>
        void (fullCsv ?? (() => Promise.resolve(drawnCsv(title, lines))))().then((text) =>
          saveText(text, `${file}.csv`, 'text/csv'),
        ),
    },
  ]
}

const drawnCsv = (title: string, lines: readonly ChartLine[]): string =>
  csvOf(
    ['name', 'step', title],
    lines.flatMap(({ label, points }) => points.map(({ lastStep, last }) => [label, lastStep, last])),
  )

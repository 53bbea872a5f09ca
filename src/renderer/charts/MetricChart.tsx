import { Ellipsis } from 'lucide-react'
import { useDeferredValue, useId, useMemo, useState, type ReactNode } from 'react'
import { IconButton } from '#renderer/kit/Button.tsx'
import { classes } from '#renderer/kit/classes.ts'
import { Help } from '#renderer/kit/Tooltip.tsx'
import { Menu, type MenuItem } from '#renderer/kit/Menu.tsx'
import { CanvasPlot } from './CanvasPlot.tsx'
import { ChartTable } from './ChartTable.tsx'
import { useGroup } from './CursorGroup.tsx'
import { CursorReadout } from './CursorReadout.tsx'
import { csvOf } from '#shared/csv.ts'
import { fileNameOf, saveScenePng, saveSceneSvg, saveText } from './exportChart.ts'
import { LineMark } from './LineMark.tsx'
import { PlotOverlay } from './PlotOverlay.tsx'
import type { ChartEvent, ChartLine } from './points.ts'
import { RechartsPlot } from './RechartsPlot.tsx'
import type { ScaleKind } from './scales.ts'
import { inReadingOrder, sceneOf, type Range, type Scene } from './scene.ts'
import { lineFacts, readNumber, textSummary, type Better } from './summary.ts'
import { useIsNear, useSize } from './useSize.ts'
import { inUnit, linesInUnit, titleWithUnit } from './units.ts'
import type { XAxis } from './xAxes.ts'

export interface MetricChartProps {
  /** Of the metric, as a person reads it. */
  readonly title: string
  /** Behind the ⓘ. */
  readonly help?: ReactNode
  /** As charts/units.ts has it: lines of shares come as shares and are drawn in percent. */
  readonly unit?: string | undefined
  readonly better?: Better
  readonly lines: readonly ChartLine[]
  /** Says what will come and when: “First evaluation at step 20.” */
  readonly emptyText: string
  readonly xAxis?: XAxis
  readonly smoothing?: number | 'auto'
  readonly scale?: ScaleKind
  /** Values that are always in view, such as 0 and 1 for shares. */
  readonly include?: readonly number[]
  readonly events?: readonly ChartEvent[]
  /** Along x where nothing is zoomed: the same for all panels of a group. Everything there is, where it is left out. */
  readonly xRange?: Range | null | undefined
  /** A few far-off values may leave the panel. */
  readonly clipsSpikes?: boolean
  /** Of the plot, in px. */
  readonly height?: number
  /** Names of the lines under the plot; where there are several, by default. */
  readonly hasLegend?: boolean
  /** Last and best value beside the title; where there is one line, by default. */
  readonly hasFacts?: boolean
  /** The full series for the CSV file; the values that are drawn where it is left out. */
  readonly fullCsv?: () => Promise<string>
  /** More entries of the panel's menu. */
  readonly menu?: readonly MenuItem[]
  readonly className?: string
}

/** More than this is drawn as pixels instead of paths: a drag of the smoothing redraws all of it ten times a second. */
const maxPaths = 20
const maxPathDots = 3000

/** One panel: lines over steps, time, tokens or trajectories, with the cursor and zoom of the group around it. */
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
  const id = useId()
  const group = useGroup()
  const [isTable, setTable] = useState(false)
  const { include, events, xRange = null, clipsSpikes = false } = props
  const zoom = useDeferredValue(group.zoom) ?? xRange
  const scene = useMemo(
    () =>
      sceneOf(lines, {
        ...{ xAxis, smoothing, scale, zoom, include, events, clipsSpikes },
        tickCount: height < 140 ? 3 : 4,
      }),
    [lines, xAxis, smoothing, scale, zoom, include, events, clipsSpikes, height],
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
      <ChartHeader {...props} scene={scene} isTable={isTable} onTable={() => setTable(!isTable)} />
      <p className="sr-only">{summary}</p>
      {scene === null && <EmptyPlot text={props.emptyText} height={height} />}
      {scene !== null && isTable && <ChartTable title={title} scene={scene} height={height} />}
      {scene !== null && !isTable && (
        <Plot id={id} label={summary} scene={scene} height={height} group={group} />
      )}
      {scene !== null && (props.hasLegend ?? lines.length > 1) && <Legend scene={scene} />}
    </section>
  )
}

/** Lines and what is always in view as the unit has them. */
function useInUnit(given: MetricChartProps): MetricChartProps {
  const { lines, include, unit } = given
  const shown = useMemo(() => linesInUnit(lines, unit), [lines, unit])
  const inView = useMemo(() => include?.map((value) => inUnit(value, unit)), [include, unit])
  return { ...given, lines: shown, ...(inView && { include: inView }) }
}

interface PlotProps {
  readonly id: string
  readonly label: string
  readonly scene: Scene
  readonly height: number
  readonly group: ReturnType<typeof useGroup>
}

/**
 * Nothing is drawn while it is far from what is seen. What grows is drawn as pixels too: paths of a page full of panels
 * would take a good part of a core at every step, and the run needs it.
 */
function Plot({ id, label, scene, height, group }: PlotProps) {
  const { size, setElement } = useSize()
  const [box, setBox] = useState<HTMLElement | null>(null)
  const isNear = useIsNear(box)
  const width = size?.width ?? 0
  const Lines = group.isLive || hasMuch(scene) ? CanvasPlot : RechartsPlot
  return (
    <div
      ref={(element) => {
        setElement(element)
        setBox(element)
      }}
      className="relative min-w-0"
      style={{ height }}
    >
      {isNear && width > 0 && (
        <>
          <div className="absolute inset-0" aria-hidden>
            <Lines scene={scene} width={width} height={height} />
          </div>
          <PlotOverlay id={id} label={label} scene={scene} width={width} height={height} group={group} />
          <CursorReadout id={id} scene={scene} width={width} height={height} cursor={group.cursor} />
        </>
      )}
    </div>
  )
}

const hasMuch = ({ lines }: Scene): boolean =>
  lines.length > maxPaths ||
  lines.reduce((sum, { main, raw }) => sum + dotsOf(main) + dotsOf(raw), 0) > maxPathDots

const dotsOf = (pieces: Scene['lines'][number]['main']): number =>
  pieces.reduce((sum, { length }) => sum + length, 0)

const EmptyPlot = ({ text, height }: { text: string; height: number }) => (
  <div
    className="flex items-center justify-center px-6 text-center text-sm text-faint text-pretty"
    style={{ height }}
  >
    {text}
  </div>
)

/** More names would take more room than the plot. */
const mostNamed = 8

const Legend = ({ scene }: { scene: Scene }) => (
  <ul className="flex flex-wrap gap-x-3 px-3 pb-2 text-sm text-muted">
    {inReadingOrder(scene.lines)
      .slice(0, mostNamed)
      .map(({ id, label, color, dash, isBaseline }) => (
        <li key={id} className="flex min-w-0 items-center gap-1.5">
          <LineMark color={color} dash={dash} isThick={isBaseline} />
          <span className="max-w-56 truncate">{label}</span>
        </li>
      ))}
    {scene.lines.length > mostNamed && <li>and {scene.lines.length - mostNamed} more</li>}
  </ul>
)

interface HeaderProps extends MetricChartProps {
  readonly scene: Scene | null
  readonly isTable: boolean
  readonly onTable: () => void
}

function ChartHeader(props: HeaderProps) {
  const { title, unit, help, scene, isTable, onTable, lines, better = 'none' } = props
  const [line] = lines
  const facts = (props.hasFacts ?? lines.length === 1) && line ? lineFacts(line.points, better) : null
  const table = { label: 'Show as table', checked: isTable, onSelect: onTable }
  const groups = scene ? [[table], saveItems(props, scene), props.menu ?? []] : [props.menu ?? []]
  return (
    <header className="flex min-h-9 shrink-0 flex-wrap items-center gap-x-1.5 pr-1.5 pl-3">
      <h3 className="max-w-[calc(100%-56px)] min-w-0 truncate font-medium" title={title}>
        {title}
      </h3>
      {unit !== undefined && <span className="shrink-0 text-sm text-faint">{unit}</span>}
      {help !== undefined && <Help about={title}>{help}</Help>}
      {facts && (
        <span className="ml-auto shrink-0 truncate font-mono text-sm tabular-nums text-text @max-[256px]:order-last @max-[256px]:ml-0 @max-[256px]:w-full @max-[256px]:pb-1.5 @max-[256px]:leading-none">
          {readNumber(facts.last)}
          {facts.best && (
            <span className="text-faint @max-[360px]:hidden">
              {'  '}best {readNumber(facts.best.value)} @ {facts.best.step}
            </span>
          )}
        </span>
      )}
      {groups.some(({ length }) => length > 0) && (
        <span className={classes('shrink-0', facts ? '@max-[256px]:ml-auto' : 'ml-auto')}>
          <Menu groups={groups}>
            <IconButton small label={`More about ${title}`} icon={<Ellipsis size={14} aria-hidden />} />
          </Menu>
        </span>
      )}
    </header>
  )
}

function saveItems(
  { title: name, unit, lines, fullCsv }: MetricChartProps,
  scene: Scene,
): readonly MenuItem[] {
  const title = titleWithUnit(name, unit)
  const file = fileNameOf(name)
  return [
    { label: 'Save as PNG', onSelect: () => void saveScenePng(scene, title, `${file}.png`) },
    { label: 'Save as SVG', onSelect: () => saveSceneSvg(scene, title, `${file}.svg`) },
    {
      label: 'Save all values as CSV',
      onSelect: () =>
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

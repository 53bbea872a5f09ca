import {
  Download,
  GitCompareArrows,
  Plus,
  ArrowDown,
  ArrowUp,
  ArrowUpDown,
  CircleHelp,
  type LucideIcon,
  RotateCcw,
} from 'lucide-react'
import { useMemo, useState } from 'react'
import { Button } from '#renderer/kit/Button.tsx'
import { Menu, Popover } from '#renderer/kit/Menu.tsx'
import { Page, Panel } from '#renderer/kit/Page.tsx'
import { SplitPane } from '#renderer/kit/SplitPane.tsx'
import { ErrorNote, Loading } from '#renderer/kit/states.tsx'
import { axesOf, type XAxis } from '#renderer/charts/axes.ts'
import { CurveControls } from '#renderer/charts/CurveControls.tsx'
import { LineMark } from '#renderer/charts/marks.tsx'
import { asError, toastError } from '#renderer/client/toasts.ts'
import { useApi } from '#renderer/client/api.tsx'
import { Badge, type Tone } from '#renderer/kit/Badge.tsx'
import { Help } from '#renderer/kit/Tooltip.tsx'
import { Checkbox, Segmented, Select } from '#renderer/kit/choices.tsx'
import { labelOf } from '#shared/config/fields.ts'
import { formatReward, plural } from '#renderer/client/format.ts'
import { useRuns, useRunStyles } from '#renderer/client/runs.ts'
import { SearchInput } from '#renderer/kit/inputs.tsx'
import { filterRuns, noFilter, searchHint } from '#renderer/parts/filter.ts'
import { useStudyTitles } from '#renderer/parts/StudyLink.tsx'
import { trainedRows, type TrainedRow } from '#renderer/parts/trainedRows.tsx'
import { CutName } from '#renderer/kit/CutName.tsx'
import { Differences } from './Differences.tsx'
import { saveCsv, savePng, saveReport, saveSvg } from './exportComparison.ts'
import { betterOf } from './measures.ts'
import { Panels } from './Panels.tsx'
import { Relations } from './Relations.tsx'
import { RunList } from './RunList.tsx'
import { SamePrompt } from './SamePrompt.tsx'
import { type CompareState, maxRuns, shownBand } from './state.ts'
import { useCompareState, useComparison, type Comparison } from './useComparison.ts'
import { gapsOf, yardstickOf, type GapQuestion, type GapInWords } from '#shared/runGaps.ts'

/** Overlays the curves of several runs and shows how the runs differ. */
export function CompareScreen() {
  const [state, change] = useCompareState()
  const comparison = useComparison(state)
  const { listed, isLoaded } = comparison
  const setRuns = (runIds: readonly string[]) => change({ runIds })
  const picker = <RunPicker chosen={state.runIds} onChange={setRuns} />
  if (!isLoaded || listed.length === 0) {
    return (
      <Page>
        {isLoaded ? <NoRuns picker={picker} /> : <Loading label="Reading the history" shape="panels" />}
      </Page>
    )
  }
  return (
    <Page
      isFull
      about={`${String(listed.length)} ${listed.length === 1 ? 'run' : 'runs'}`}
      main={
        <>
          <Popover label="Choose runs" width={400} trigger={<Button icon={Plus}>Choose runs</Button>}>
            {picker}
          </Popover>
          <ExportMenu comparison={comparison} state={state} />
        </>
      }
    >
      <SplitPane id="compare" sizes={[22, 78]} minimums={[200, 500]}>
        <RunList
          runs={listed}
          means={comparison.means}
          metric={comparison.metric}
          metrics={comparison.hasNames ? comparison.names : null}
          hasValues={comparison.hasNames && comparison.hasSeries}
          statistic={state.statistic}
          onMetric={(metric) => change({ metric })}
          onStatistic={(statistic) => change({ statistic })}
          onHide={(id) => change({ hidden: toggled(state.hidden, id) })}
          onBaseline={(id) => change({ baseline: state.baseline === id ? null : id })}
          onRemove={(id) => setRuns(state.runIds.filter((other) => other !== id))}
        />
        <Comparing comparison={comparison} state={state} onChange={change} />
      </SplitPane>
    </Page>
  )
}

const toggled = (list: readonly string[], id: string): readonly string[] =>
  list.includes(id) ? list.filter((other) => other !== id) : [...list, id]

interface ComparingProps {
  readonly comparison: Comparison
  readonly state: CompareState
  readonly onChange: (changes: Partial<CompareState>) => void
}

function Comparing({ comparison, state, onChange }: ComparingProps) {
  const { visible, metric, settings, records, keys, seedGroups, tails, valueOf, shownMetrics, error } =
    comparison
  return (
    <div className="min-h-0 grow overflow-auto" tabIndex={-1}>
      <div className="sticky top-0 z-30 border-b border-line bg-bg px-4 py-2">
        <ChartBar
          state={state}
          axes={axesOf(comparison.names)}
          smoothing={comparison.smoothing}
          groupKeys={keys}
          onChange={onChange}
        />
      </div>
      <div className="flex flex-col gap-4 p-4">
        {error && <ErrorNote error={error} />}
        <Panels comparison={comparison} state={state} onChange={onChange} />
        {metric !== null && (
          <Gap metric={metric} better={betterOf(metric)} runs={visible} groups={seedGroups} tails={tails} />
        )}
        <Differences runs={visible} settings={settings} records={records} />
        <SamePrompt runs={visible} />
        {metric !== null && (
          <Relations {...{ settings, keys, valueOf, metric }} runs={visible} metrics={shownMetrics} />
        )}
      </div>
    </div>
  )
}

function ExportMenu({ comparison, state }: Omit<ComparingProps, 'onChange'>) {
  const client = useApi()
  const report = () => {
    saveReport(client, comparison).catch((thrown: unknown) => toastError(asError(thrown)))
  }
  return (
    <Menu
      groups={[
        [
          { label: 'Panels as PNG', run: () => void savePng(comparison, state) },
          { label: 'Panels as SVG', run: () => void saveSvg(comparison, state) },
          { label: 'All values as CSV', run: () => void saveCsv(client, comparison) },
        ],
        [{ label: 'Report as HTML', run: report }],
      ]}
    >
      <Button variant="primary" icon={Download}>
        Export
      </Button>
    </Menu>
  )
}

const NoRuns = ({ picker }: { picker: React.ReactNode }) => (
  <div className="mx-auto max-w-120 py-6">
    <div className="mb-4 flex flex-col items-center gap-2 text-center">
      <GitCompareArrows size={28} aria-hidden className="text-faint" />
      <p className="text-lg font-medium">Choose two or more runs to compare</p>
      <p className="text-muted text-pretty">
        Their curves share one cursor, with their differences in settings, reward code and completions beside.
      </p>
    </div>
    <div className="rounded border border-line p-3">{picker}</div>
  </div>
)

const looks: Readonly<Record<GapInWords['verdict'], { tone: Tone; Icon: LucideIcon; words: string }>> = {
  better: { tone: 'good', Icon: ArrowUp, words: 'Better' },
  worse: { tone: 'bad', Icon: ArrowDown, words: 'Worse' },
  different: { tone: 'accent', Icon: ArrowUpDown, words: 'Different' },
  open: { tone: 'plain', Icon: CircleHelp, words: 'Open' },
}

function Gap(props: GapQuestion) {
  const { metric, better, runs, groups, tails } = props
  const gaps = useMemo(
    () => gapsOf({ metric, better, runs, groups, tails }),
    [metric, better, runs, groups, tails],
  )
  const grounds = [...new Set(gaps.map(({ ground }) => ground))]
  const spread = yardstickOf(props)
  const hasBaseline = props.runs.some(({ isBaseline }) => isBaseline)
  return (
    <Panel
      title="Is the gap real?"
      isFlush
      actions={
        <Help about="how this is computed">
          With two or more seeds on both sides: Welch’s t interval. One run against three or more seeds: the
          prediction interval for another seed. Otherwise: Student’s t over the last values of the two runs,
          each worth fewer values the more neighbours resemble each other. That is about the noise within the
          two runs only; whether their settings differ stays open. Below 20 values there is no verdict.
        </Help>
      }
    >
      {!hasBaseline && (
        <p className="p-3 text-muted">Mark a run as baseline to see whether the others differ from it.</p>
      )}
      {hasBaseline && gaps.length === 0 && (
        <p className="p-3 text-muted">
          {spread === null
            ? 'Add another run to compare with the baseline.'
            : 'The runs differ only in their seed.'}
        </p>
      )}
      <ul>
        {gaps.map(({ id, verdict, isOneSeed, finding }) => {
          const { tone, Icon, words } = looks[verdict]
          return (
            <li key={id} className="flex items-start gap-3 border-b border-line px-3 py-2 last:border-b-0">
              <span className="w-36 shrink-0 pt-px">
                <Badge tone={tone} icon={Icon}>
                  {verdict !== 'open' && isOneSeed ? `${words}, one seed` : words}
                </Badge>
              </span>
              <p className="min-w-0 text-pretty">{finding}</p>
            </li>
          )
        })}
      </ul>
      {(grounds.length > 0 || spread !== null) && (
        <div className="border-t border-line px-3 py-2 text-sm text-faint">
          {spread !== null && <p className="text-pretty">{spread}</p>}
          {grounds.map((ground) => (
            <p key={ground} className="text-pretty">
              {ground}
            </p>
          ))}
        </div>
      )}
    </Panel>
  )
}

interface ChartBarProps {
  readonly state: CompareState
  /** Axes for which the runs have the metrics. */
  readonly axes: readonly XAxis[]
  /** Smoothing used until the user chooses one. */
  readonly smoothing: number
  readonly groupKeys: readonly string[]
  readonly onChange: (changes: Partial<CompareState>) => void
}

const groupings = (keys: readonly string[]) => [
  { value: '', label: 'No grouping' },
  { value: 'seed', label: 'Group by seed' },
  ...keys.filter((key) => key !== 'seed').map((key) => ({ value: key, label: `Group by ${labelOf(key)}` })),
]

function ChartBar({ state, axes, smoothing, groupKeys, onChange }: ChartBarProps) {
  return (
    <div role="toolbar" aria-label="Curves" className="flex flex-wrap items-center gap-x-3 gap-y-2">
      <CurveControls
        look={state}
        axes={axes}
        smoothing={smoothing}
        onChange={(look) => onChange(look.x === undefined ? look : { ...look, zoom: null })}
      />
      <span className="flex items-center gap-3">
        <Select
          aria-label="Group runs"
          value={state.group ?? ''}
          options={groupings(groupKeys)}
          onChange={(group) => onChange({ group: group === '' ? null : group })}
        />
        <Checkbox
          label={
            <span title="Resumptions, warnings and forks; checkpoints too where at most three runs are shown">
              Events
            </span>
          }
          checked={state.hasMarks}
          onChange={(hasMarks) => onChange({ hasMarks })}
        />
        <Checkbox
          label={
            <span title="Clips a few outliers, so that the other values stay readable">Clip spikes</span>
          }
          checked={state.clipsSpikes}
          onChange={(clipsSpikes) => onChange({ clipsSpikes })}
        />
      </span>
      {state.group !== null && (
        <Segmented
          label="Band"
          value={shownBand(state)}
          options={{ range: 'Range', deviation: '±1 sd', interval: '95 % interval' }}
          onChange={(band) => onChange({ band })}
        />
      )}
      {state.zoom !== null && (
        <Button variant="quiet" icon={RotateCcw} iconSize={13} onClick={() => onChange({ zoom: null })}>
          Whole length
        </Button>
      )}
    </div>
  )
}

interface RunPickerProps {
  readonly chosen: readonly string[]
  readonly onChange: (runIds: readonly string[]) => void
}

const maxShown = 100

function withToggled(chosen: readonly string[], { runs }: TrainedRow): readonly string[] {
  const ids = runs.map(({ id }) => id)
  const areAll = ids.every((id) => chosen.includes(id))
  const others = chosen.filter((id) => !ids.includes(id))
  return areAll ? others : [...new Set([...chosen, ...ids])].slice(0, maxRuns)
}

function RunPicker({ chosen, onChange }: RunPickerProps) {
  const { runs } = useRuns()
  const styleOf = useRunStyles()
  const [text, setText] = useState('')
  // What is searched for may be one trial.
  const studies = useStudyTitles()
  const found = trainedRows(filterRuns(runs, { ...noFilter, text }), text === '' ? studies : new Map())
  const toggle = (row: TrainedRow) => onChange(withToggled(chosen, row))
  return (
    <div className="flex min-h-0 flex-col gap-2">
      <SearchInput label="Find runs" placeholder={searchHint} value={text} onChange={setText} />
      <ul className="max-h-80 min-h-0 overflow-auto">
        {found.slice(0, maxShown).map((row) => (
          <li key={row.run.id} className="flex items-center gap-2 rounded-sm px-1 hover:bg-panel">
            <Checkbox
              aria-label={`Compare ${row.title}`}
              checked={row.runs.every(({ id }) => chosen.includes(id))}
              onChange={() => toggle(row)}
            />
            <LineMark {...styleOf(row.run.id)} />
            <button
              type="button"
              tabIndex={-1}
              className="flex h-7 min-w-0 grow items-center gap-2 text-left"
              onClick={() => toggle(row)}
            >
              <span className="min-w-0 grow">
                <CutName name={row.title} />
              </span>
              <span className="shrink-0 text-sm text-faint">
                {row.runs.length > 1 ? plural(row.runs.length, 'trial') : row.run.algorithmTitle}
              </span>
              <span className="w-12 shrink-0 text-right font-mono text-sm tabular-nums">
                {formatReward(row.run.rewardAfter ?? row.run.reward)}
              </span>
            </button>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p className="text-sm text-faint">No run fits.</p>}
      {found.length > maxShown && (
        <p className="text-sm text-faint">and {found.length - maxShown} more: narrow the search</p>
      )}
    </div>
  )
}

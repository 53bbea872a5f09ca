/** Trials of rewards, which score rows, and of environments, in which an episode is played by hand. */
import { Help } from '#renderer/kit/Tooltip.tsx'
import type { CodeFailurePlace } from '#renderer/editor/problemLines.ts'
import type { GalleryEntry, SettingValues } from '#renderer/parts/rewardTypes.ts'
import { BatteryTab } from './BatteryTab.tsx'
import { columnNames, textColumns } from './bench.ts'
import { codeStatus } from './EditorPane.tsx'
import { PlayTab } from './PlayTab.tsx'
import { ResultsTab } from './ResultsTab.tsx'
import type { ResultRow } from './results.ts'
import { RowsPane } from './RowsPane.tsx'
import { SettingsFields } from './SettingsFields.tsx'
import { caseFromSample } from './testForm.ts'
import { TestsTab, withTest } from './TestsTab.tsx'
import { useCodeCheck, useCodeSettings, useRewardBench, type RewardBench } from './useRewards.ts'
import { useBattery, useDryRun, useEpisode, useTestRun, useTests, type TrialInput } from './useTrials.ts'
import { Count, type CodeTrial, type OpenCode, type View, type WorkbenchTab } from './Workbench.tsx'

export function useRewardTrial(open: OpenCode): CodeTrial {
  const { input, shown } = useCodeOnRows(open, false)
  const tests = useTestsTab(open, input.settings)
  const onGoTo = open.own === null ? null : open.view.goToLine
  return { ...shown, ...useScoring({ ...input, ...tests, onGoTo, view: open.view }) }
}

export function useEnvironmentTrial(open: OpenCode): CodeTrial {
  const { input, shown } = useCodeOnRows(open, true)
  const rowWords = open.own === null ? firstRow : wordsOfRow(input.bench)
  return { ...shown, problems: noPlaces, ...usePlaying({ ...input, rowWords, view: open.view }) }
}

const noPlaces: readonly CodeFailurePlace[] = []
const firstRow = 'the first row on the right'

const wordsOfRow = ({ bench, shown }: RewardBench): string =>
  bench.versionId === null || shown.rows.length === 0
    ? 'an empty row'
    : `row ${String(bench.from + 1)} of the data set`

function useCodeOnRows({ key, code, models }: OpenCode, isEnvironment: boolean) {
  const bench = useRewardBench()
  const check = useCodeCheck(code)
  const { known, values, setValues } = useCodeSettings(key, check)
  return {
    input: { code, settings: values, bench },
    shown: {
      status: codeStatus(check, ['reward', 'environment']),
      context: bench.columns,
      pane: (
        <>
          <RowsPane {...{ bench, models, isEnvironment }} />
          {Object.keys(known).length > 0 && (
            <section aria-label="Settings" className="flex max-h-44 shrink-0 flex-col border-t border-line">
              <h2 className="flex h-7 shrink-0 items-center pl-3 text-sm font-medium text-muted">
                Settings
                <Help about="settings">
                  The code declares them with their defaults. Changes here apply to dry runs, reward-hacking
                  tests and new runs started from here.
                </Help>
              </h2>
              <div className="min-h-0 overflow-auto px-3 pb-2">
                <SettingsFields
                  {...{ known, values }}
                  onChange={setValues}
                  columns={columnNames(bench.version)}
                />
              </div>
            </section>
          )}
        </>
      ),
    },
  }
}

interface Scored extends TrialInput {
  readonly view: View
  /** Tab with tests; null if there can be none. */
  readonly tests: WorkbenchTab | null
  /** Null if no tests can be added. */
  readonly onAddTest?: ((row: ResultRow) => void) | null
  /** Null if there is no code to change. */
  readonly onGoTo?: ((line: number) => void) | null
}

/** Scores rows with a reward, a judge or a file. */
export function useScoring({ view, tests, onAddTest = null, onGoTo = null, ...input }: Scored) {
  const dryRun = useDryRun(input)
  const battery = useBattery(input)
  const { version } = input.bench
  const results: WorkbenchTab = {
    tab: { id: 'results', label: 'Results', mark: <Count of={dryRun.rows.length} /> },
    content: <ResultsTab {...{ dryRun, onAddTest, onGoTo }} />,
  }
  const hacking: WorkbenchTab = {
    tab: { id: 'battery', label: 'Reward-hacking tests' },
    content: <BatteryTab battery={battery} honestColumns={textColumns(version?.columns ?? [])} />,
  }
  return {
    problems: dryRun.problems,
    act: () => {
      view.openTab('results')
      dryRun.run()
    },
    button: { words: 'Dry-run' },
    tabs: tests === null ? [results, hacking] : [results, tests, hacking],
  }
}

interface Playing extends TrialInput {
  readonly view: View
  /** Row that the episode starts from. */
  readonly rowWords?: string
}

/** Plays an episode of an environment by hand. */
export function usePlaying({ code, settings, bench, view, rowWords = firstRow }: Playing) {
  const episode = useEpisode({ code, settings, row: bench.shown.rows[0] ?? {} })
  return {
    act: () => {
      view.openTab('play')
      episode.start()
    },
    button: { words: 'Play' },
    tabs: [
      { tab: { id: 'play', label: 'Play' }, content: <PlayTab episode={episode} rowWords={rowWords} /> },
    ],
  }
}

/** Tests of own code, which results can join, or examples of gallery code. */
function useTestsTab({ key, code, own, examples, view }: OpenCode, settings: SettingValues) {
  const { tests, set, error } = useTests(key, own !== null)
  const testRun = useTestRun(key, code)
  if (own === null) return { tests: examplesTab(examples) }
  const tab: WorkbenchTab = {
    tab: { id: 'tests', label: 'Tests', mark: <Count of={tests.length} /> },
    content: (
      <TestsTab
        tests={tests}
        own={{
          testRun: error === null ? testRun : { ...testRun, error },
          onChange: set,
          // The gate belongs to a version: that of the code in the editor.
          isGateOn: own.version?.gatesStart ?? own.versions[0]?.gatesStart ?? false,
          isGateFixed: own.version === null,
          setGate: (gatesStart) => void own.save({ gatesStart }),
        }}
      />
    ),
  }
  const onAddTest = ({ input, score }: ResultRow): void => {
    if (input === null) return
    const taken = tests.map(({ name }) => name)
    set(withTest(tests, caseFromSample(input, score?.total ?? null, { settings, taken })))
    view.openTab('tests')
  }
  return { tests: tab, onAddTest }
}

export const examplesTab = (examples: GalleryEntry['examples']): WorkbenchTab => ({
  tab: { id: 'tests', label: 'Examples', mark: <Count of={examples.length} /> },
  content: <TestsTab tests={examples} own={null} />,
})

/** What stands below the code of a reward or environment of one's own. */
import type { OpenReward, RewardBench } from './useRewards.ts'
import type { Battery, DryRun, Episode, useTests } from './useTrials.ts'
import { toast } from '#renderer/client/toasts.ts'
import { BatteryTab } from './BatteryTab.tsx'
import { textColumns } from './bench.ts'
import { versionNumber } from './library.ts'
import { PlayTab } from './PlayTab.tsx'
import { ResultsTab } from './ResultsTab.tsx'
import type { ResultRow } from './results.ts'
import { caseFromSample } from './testForm.ts'
import { TestsTab, withTest, type TestRun } from './TestsTab.tsx'
import type { Reward, SettingValues } from './types.ts'
import { UsedByTab } from './UsedByTab.tsx'
import { VersionsTab } from './VersionsTab.tsx'
import { Count, type WorkbenchTab } from './Workbench.tsx'

export interface OwnState {
  readonly reward: Reward
  readonly open: OpenReward
  readonly bench: RewardBench
  readonly settings: SettingValues
  readonly dryRun: DryRun
  readonly battery: Battery
  readonly episode: Episode
  readonly tests: ReturnType<typeof useTests>
  readonly testRun: TestRun
  readonly uses: readonly { readonly runId: string; readonly version: string }[] | undefined
  readonly openTab: (id: string) => void
  /** In the editor. */
  readonly goToLine: (line: number) => void
}

export const rewardTabs = (state: OwnState): readonly WorkbenchTab[] => [
  resultsTab(state),
  testsTab(state),
  batteryTab(state),
  versionsTab(state),
  usedByTab(state),
]

export const environmentTabs = (state: OwnState): readonly WorkbenchTab[] => [
  playTab(state),
  versionsTab(state),
  usedByTab(state),
]

function resultsTab({ dryRun, bench, settings, tests, openTab, goToLine }: OwnState): WorkbenchTab {
  const keepAsTest = ({ input, score }: ResultRow): void => {
    if (input === null) return
    const taken = tests.tests.map(({ name }) => name)
    const made = caseFromSample(input, score?.total ?? null, { settings, taken })
    tests.set(withTest(tests.tests, made))
    openTab('tests')
  }
  return {
    tab: { id: 'results', label: 'Results', mark: <Count of={dryRun.rows.length} /> },
    content: (
      <ResultsTab
        {...dryRun}
        isGenerated={bench.bench.completions === 'model'}
        onAddTest={keepAsTest}
        onGoTo={goToLine}
      />
    ),
  }
}

const testsTab = ({ tests, testRun, open }: OwnState): WorkbenchTab => ({
  tab: { id: 'tests', label: 'Tests', mark: <Count of={tests.tests.length} /> },
  content: (
    <TestsTab
      tests={tests.tests}
      testRun={tests.error === null ? testRun : { ...testRun, error: tests.error }}
      onChange={tests.set}
      gate={{
        // The gate is a version's: that of the code in the editor.
        isOn: open.version?.gatesStart ?? open.versions[0]?.gatesStart ?? false,
        isFixed: open.version === null,
        set: (gatesStart) => void open.save({ gatesStart }),
      }}
    />
  ),
})

const batteryTab = ({ battery, bench }: OwnState): WorkbenchTab => ({
  tab: { id: 'battery', label: 'Reward-hacking tests' },
  content: (
    <BatteryTab
      battery={battery}
      missing={battery.missing}
      honestColumns={textColumns(bench.version?.columns ?? [])}
      honest={battery.honest}
      onHonest={battery.setHonest}
      isStale={battery.isStale}
    />
  ),
})

const versionsTab = ({ open }: OwnState): WorkbenchTab => ({
  tab: { id: 'versions', label: 'Versions', mark: <Count of={open.versions.length} /> },
  content: (
    <VersionsTab
      versions={open.versions}
      code={open.code}
      onRestore={(version) => {
        open.change({ language: version.language, code: version.code })
        toast({ title: `Version ${String(versionNumber(open.versions, version.hash))} is in the editor.` })
      }}
      onNote={open.note}
    />
  ),
})

const usedByTab = ({ reward, open, uses }: OwnState): WorkbenchTab => ({
  tab: {
    id: 'used-by',
    label: 'Used by',
    mark: <Count of={new Set(uses?.map(({ runId }) => runId)).size} />,
  },
  content: <UsedByTab rewardId={reward.id} kind={reward.kind} versions={open.versions} uses={uses} />,
})

const playTab = ({ episode, bench }: OwnState): WorkbenchTab => ({
  tab: { id: 'play', label: 'Play' },
  content: <PlayTab episode={episode} rowWords={rowWords(bench)} isStale={episode.isStale} />,
})

const rowWords = ({ bench, shown }: RewardBench): string =>
  bench.versionId === null || shown.rows.length === 0
    ? 'an empty row'
    : `row ${String(bench.from + 1)} of the data set`

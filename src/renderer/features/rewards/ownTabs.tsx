/** Tabs below the code of a custom reward or environment. */
import { RotateCcw, ShieldCheck } from 'lucide-react'
import { useState } from 'react'
import { toast } from '#renderer/client/toasts.ts'
import { formatDate, formatTime, plural } from '#renderer/client/format.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { besideClasses, classes } from '#renderer/kit/classes.ts'
import { Segmented } from '#renderer/kit/choices.tsx'
import { TextInput } from '#renderer/kit/inputs.tsx'
import { EmptyState } from '#renderer/kit/states.tsx'
import { LazyCodeDiff } from '#renderer/editor/lazyEditor.tsx'
import type { OpenReward, RewardBench } from './useRewards.ts'
import type { Battery, DryRun, Episode, useTests } from './useTrials.ts'
import { BatteryTab } from './BatteryTab.tsx'
import { textColumns } from './bench.ts'
import { versionNumber } from '../../parts/rewardLibrary.ts'
import { PlayTab } from './PlayTab.tsx'
import { ResultsTab } from './ResultsTab.tsx'
import type { ResultRow } from './results.ts'
import { caseFromSample } from './testForm.ts'
import { TestsTab, withTest, type TestRun } from './TestsTab.tsx'
import type { Reward, SettingValues, Code, RewardVersion } from '../../parts/rewardTypes.ts'
import { UsedByTab } from './UsedByTab.tsx'
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
        // The gate belongs to a version: that of the code in the editor.
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

export const versionsTab = ({ open }: Pick<OwnState, 'open'>): WorkbenchTab => ({
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

export const usedByTab = ({
  reward,
  open,
  uses,
}: Pick<OwnState, 'reward' | 'open' | 'uses'>): WorkbenchTab => ({
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

interface VersionsTabProps {
  /** Newest first. */
  readonly versions: readonly RewardVersion[]
  readonly code: Code
  readonly onRestore: (version: RewardVersion) => void
  readonly onNote: (version: RewardVersion, note: string) => void
}

/** Width from which two columns of code fit. */
const wide = matchMedia('(min-width: 1600px)')

/** Lists saved versions, and compares them with the code in the editor. */
function VersionsTab({ versions, code, onRestore, onNote }: VersionsTabProps) {
  const [chosen, setChosen] = useState<string | null>(null)
  const [layout, setLayout] = useState<'unified' | 'split'>(wide.matches ? 'split' : 'unified')
  // Without changes since the newest version, a comparison with the previous one says more.
  const usual = versions[0]?.code === code.code ? (versions[1] ?? versions[0]) : versions[0]
  const open = versions.find(({ hash }) => hash === chosen) ?? usual
  if (open === undefined) return <EmptyState title="Saving the code makes the first version." />
  const isSame = open.code === code.code && open.language === code.language
  return (
    <div className={`${besideClasses} h-full`}>
      <ol
        className="w-72 shrink-0 overflow-auto border-r border-line narrow:max-h-48 narrow:w-full narrow:border-r-0 narrow:border-b"
        aria-label="Versions"
      >
        {versions.map((version) => (
          <VersionItem
            key={version.hash}
            version={version}
            number={versionNumber(versions, version.hash) ?? 0}
            isOpen={version.hash === open.hash}
            isCurrent={version.code === code.code && version.language === code.language}
            onOpen={() => setChosen(version.hash)}
          />
        ))}
      </ol>
      <div className="flex min-h-0 min-w-0 grow flex-col">
        <div className="flex min-h-9 shrink-0 flex-wrap items-center gap-2 border-b border-line px-3">
          <NoteField key={open.hash} version={open} onNote={onNote} />
          <Segmented
            label="Layout of the difference"
            value={layout}
            options={[
              { value: 'split', label: 'Side by side' },
              { value: 'unified', label: 'One column' },
            ]}
            onChange={setLayout}
          />
          <Button
            small
            icon={<RotateCcw size={13} aria-hidden />}
            disabled={isSame}
            onClick={() => onRestore(open)}
          >
            Restore
          </Button>
        </div>
        <div className="min-h-0 grow">
          {isSame ? (
            <p className="p-4 text-muted">This is the code in the editor.</p>
          ) : (
            <LazyCodeDiff
              before={open.code}
              after={code.code}
              language={code.language}
              layout={layout}
              label={`Version ${String(versionNumber(versions, open.hash))} and the code in the editor`}
            />
          )}
        </div>
      </div>
    </div>
  )
}

interface VersionItemProps {
  readonly version: RewardVersion
  readonly number: number
  readonly isOpen: boolean
  readonly isCurrent: boolean
  readonly onOpen: () => void
}

function VersionItem({ version, number, isOpen, isCurrent, onOpen }: VersionItemProps) {
  const { note, createdAt, gatesStart, code } = version
  return (
    <li className="border-b border-line">
      <button
        type="button"
        aria-current={isOpen ? 'true' : undefined}
        onClick={onOpen}
        className={classes(
          'flex w-full flex-col px-4 py-1.5 text-left -outline-offset-2',
          isOpen ? 'bg-accent-soft' : 'hover:bg-panel',
        )}
      >
        <span className="flex w-full items-center gap-2">
          <span className="font-medium">Version {number}</span>
          {isCurrent && <Badge tone="accent">in the editor</Badge>}
          {gatesStart && (
            <span title="No run starts with it until its tests pass" className="text-good">
              <ShieldCheck size={13} role="img" aria-label="Tests gate the start" />
            </span>
          )}
          <span className="ml-auto text-xs text-muted tabular-nums">
            {formatDate(createdAt)} {formatTime(createdAt).slice(0, 5)}
          </span>
        </span>
        <span className="truncate text-sm text-muted">
          {note === '' ? plural(code.split('\n').length, 'line') : note}
        </span>
      </button>
    </li>
  )
}

function NoteField({ version, onNote }: { version: RewardVersion; onNote: VersionsTabProps['onNote'] }) {
  const [note, setNote] = useState(version.note)
  const keep = () => {
    if (note.trim() !== version.note) onNote(version, note.trim())
  }
  return (
    <TextInput
      small
      aria-label="Note on this version"
      placeholder="Note: what changed, and why"
      maxLength={2000}
      value={note}
      onChange={setNote}
      onBlur={keep}
      onKeyDown={(event) => event.key === 'Enter' && keep()}
    />
  )
}

import { Play } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { useKeys } from '#renderer/client/keys.ts'
import { useCodeCheck, useCodeSettings, useRewardBench, type RewardBench } from './useRewards.ts'
import { useBattery, useDryRun, useEpisode, type Battery, type DryRun, type Episode } from './useTrials.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { besideClasses } from '#renderer/kit/classes.ts'
import { Page, KeyValue } from '#renderer/kit/Page.tsx'
import { BatteryTab } from './BatteryTab.tsx'
import { textColumns } from './bench.ts'
import { GalleryFrame, readOnly } from './CodeFrame.tsx'
import { codeStatus, EditorPane } from './EditorPane.tsx'
import { galleryKey } from '../../parts/rewardLibrary.ts'
import { PlayTab } from './PlayTab.tsx'
import { ResultsTab } from './ResultsTab.tsx'
import { RowsPane } from './RowsPane.tsx'
import { SettingsFields } from './SettingsFields.tsx'
import { TestsTab } from './TestsTab.tsx'
import type { Code, GalleryEntry } from '../../parts/rewardTypes.ts'
import { Count, Workbench, type WorkbenchTab } from './Workbench.tsx'

interface GalleryWorkbenchProps {
  readonly entry: GalleryEntry
  readonly models: readonly string[]
  readonly library: ReactNode
  readonly onCopy: () => void
}

const noTestRun = { results: null, isRunning: false, error: null, run: () => {} }

/** Workbench of gallery code, which can be tried as it is and copied to be changed. */
export function GalleryWorkbench({ entry, models, library, onCopy }: GalleryWorkbenchProps) {
  const code: Code = { language: entry.language ?? 'ts', code: entry.code ?? '' }
  const key = galleryKey(entry)
  const bench = useRewardBench()
  const check = useCodeCheck(code)
  const settings = useCodeSettings(key, check)
  const trial = { code, settings: settings.values, bench }
  const dryRun = useDryRun(trial)
  const battery = useBattery(trial)
  const episode = useEpisode({ code, settings: settings.values, row: bench.shown.rows[0] ?? {} })
  const isEnvironment = entry.kind === 'environment'
  const [tab, setTab] = useState(isEnvironment ? 'play' : 'results')
  const run = () => {
    setTab(isEnvironment ? 'play' : 'results')
    if (isEnvironment) episode.start()
    else dryRun.run()
  }
  useKeys({ act: run })
  const tabs = isEnvironment
    ? [playTab(episode)]
    : trialTabs({ examples: entry.examples, bench, dryRun, battery })
  return (
    <GalleryFrame
      {...{ entry, library, onCopy }}
      main={
        <Button variant="primary" icon={<Play size={14} aria-hidden />} onClick={run}>
          {isEnvironment ? 'Play' : 'Dry-run'}
        </Button>
      }
    >
      <Workbench
        editor={
          <EditorPane
            rewardKey={key}
            code={code}
            status={codeStatus(check, ['reward', 'environment'])}
            problems={[]}
            goTo={null}
            context={bench.columns}
            onChange={null}
            onRun={run}
            onSave={() => {}}
            about={readOnly}
          />
        }
        rows={<RowsPane bench={bench} models={models} isEnvironment={isEnvironment} />}
        settings={{
          ...{ known: settings.known, values: settings.values, onChange: settings.setValues },
          columns: (bench.version?.columns ?? []).map(({ name }) => name),
        }}
        tabs={tabs}
        openTab={tab}
        onOpenTab={setTab}
      />
    </GalleryFrame>
  )
}

export const playTab = (episode: Episode): WorkbenchTab => ({
  tab: { id: 'play', label: 'Play' },
  content: <PlayTab episode={episode} rowWords="the first row on the right" isStale={episode.isStale} />,
})

interface Trials {
  readonly examples: GalleryEntry['examples']
  readonly bench: RewardBench
  readonly dryRun: DryRun
  readonly battery: Battery
}

export const trialTabs = ({ examples, bench, dryRun, battery }: Trials): readonly WorkbenchTab[] => [
  {
    tab: { id: 'results', label: 'Results', mark: <Count of={dryRun.rows.length} /> },
    content: (
      <ResultsTab
        {...dryRun}
        isGenerated={bench.bench.completions === 'model'}
        onAddTest={null}
        onGoTo={null}
      />
    ),
  },
  {
    tab: { id: 'tests', label: 'Examples', mark: <Count of={examples.length} /> },
    content: <TestsTab tests={examples} testRun={noTestRun} onChange={null} gate={null} />,
  },
  {
    tab: { id: 'battery', label: 'Reward-hacking tests' },
    content: (
      <BatteryTab
        battery={battery}
        missing={battery.missing}
        honestColumns={textColumns(bench.version?.columns ?? [])}
        honest={battery.honest}
        onHonest={battery.setHonest}
        isStale={false}
      />
    ),
  },
]

/** Page of a function without source: description, settings, and an episode if it is an environment. */
export function BuiltInPage({ entry, library }: { entry: GalleryEntry; library: ReactNode }) {
  const [values, setValues] = useState({})
  const bench = useRewardBench()
  const episode = useEpisode({
    code: { builtIn: entry.id },
    settings: values,
    row: bench.shown.rows[0] ?? {},
  })
  const known = entry.settings ?? {}
  return (
    <Page isFull title={entry.title} about={<Badge>Built-in</Badge>}>
      <div className={besideClasses}>
        {library}
        <div className="flex min-h-0 min-w-0 grow flex-col">
          <div className="flex shrink-0 flex-col gap-4 px-page py-6">
            <p className="max-w-180 text-pretty">{entry.description}</p>
            <KeyValue
              entries={[
                ['Kind', entry.kind === 'reward' ? 'Reward function' : 'Environment'],
                [
                  'Name in a run',
                  <code key="id" className="font-mono text-sm">
                    {entry.id}
                  </code>,
                ],
              ]}
            />
            {Object.keys(known).length > 0 && (
              <section className="max-w-180">
                <h2 className="pb-1 font-medium">
                  {entry.kind === 'environment' ? 'Settings' : 'Settings and their defaults'}
                </h2>
                {entry.kind === 'environment' ? (
                  <SettingsFields known={known} values={values} onChange={setValues} />
                ) : (
                  <KeyValue
                    entries={Object.entries(known).map(([name, value]) => [
                      name,
                      <code key={name} className="font-mono text-sm">
                        {JSON.stringify(value)}
                      </code>,
                    ])}
                  />
                )}
              </section>
            )}
            {entry.kind === 'reward' && (
              <p className="text-muted">A new run can add it with a weight and settings of its own.</p>
            )}
          </div>
          {entry.kind === 'environment' && (
            <section aria-label="Play" className="flex min-h-0 grow flex-col border-t border-line">
              <PlayTab episode={episode} rowWords={playRowWords(bench)} isStale={false} />
            </section>
          )}
        </div>
      </div>
    </Page>
  )
}

const playRowWords = ({ shown }: ReturnType<typeof useRewardBench>): string =>
  shown.rows.length === 0 ? 'an empty row' : 'the first row of the chosen data set'

import { Play } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { judgeFunction } from '#shared/config/judge.ts'
import { useKeys } from '#renderer/client/keys.ts'
import { useSetting } from '#renderer/client/settings.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { besideClasses } from '#renderer/kit/classes.ts'
import { Page } from '#renderer/kit/Page.tsx'
import { trialTabs } from './GalleryWorkbench.tsx'
import { JudgeFields } from './JudgeFields.tsx'
import { RowsPane } from './RowsPane.tsx'
import type { GalleryEntry, SettingValues } from '../../parts/rewardTypes.ts'
import { useRewardBench } from './useRewards.ts'
import { useBattery, useDryRun } from './useTrials.ts'
import { Workbench } from './Workbench.tsx'

interface JudgeWorkbenchProps {
  readonly entry: GalleryEntry
  readonly models: readonly string[]
  readonly library: ReactNode
}

const code = { builtIn: judgeFunction } as const
const noSettings: SettingValues = {}

/** Tries a judge on rows before a run learns from it. */
export function JudgeWorkbench({ entry, models, library }: JudgeWorkbenchProps) {
  const [settings, setSettings] = useSetting<SettingValues>('rewards.judge', noSettings)
  const bench = useRewardBench()
  const trial = { code, settings, bench }
  const dryRun = useDryRun(trial)
  const battery = useBattery(trial)
  const [tab, setTab] = useState('results')
  const run = () => {
    setTab('results')
    dryRun.run()
  }
  useKeys({ act: run })
  const tabs = trialTabs({ examples: [], bench, dryRun, battery })
  return (
    <Page
      isFull
      title="Judge"
      about={<Badge>Built-in</Badge>}
      main={
        <Button variant="primary" icon={<Play size={14} aria-hidden />} onClick={run}>
          Dry-run
        </Button>
      }
    >
      <div className={besideClasses}>
        {library}
        <Workbench
          editor={
            <section aria-label="Judge" className="flex min-w-0 grow flex-col gap-4 overflow-auto p-4">
              <p className="max-w-180 text-pretty text-muted">{entry.description}</p>
              <div className="max-w-180">
                <JudgeFields values={settings} onChange={setSettings} />
              </div>
            </section>
          }
          rows={<RowsPane bench={bench} models={models} isEnvironment={false} />}
          tabs={tabs.filter(({ tab: { id } }) => id !== 'tests')}
          openTab={tab}
          onOpenTab={setTab}
        />
      </div>
    </Page>
  )
}

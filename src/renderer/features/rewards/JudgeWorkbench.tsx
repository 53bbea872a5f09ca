import { judgeFunction } from '#shared/config/judge.ts'
import { useSetting } from '#renderer/client/settings.ts'
import type { GalleryEntry, SettingValues } from '#renderer/parts/rewardTypes.ts'
import { JudgeFields } from './JudgeFields.tsx'
import { RowsPane } from './RowsPane.tsx'
import { useRewardBench } from './useRewards.ts'
import { useScoring } from './useRewardTrial.tsx'
import { useView, Workbench } from './Workbench.tsx'

interface JudgeWorkbenchProps {
  readonly entry: GalleryEntry
  readonly models: readonly string[]
}

const code = { builtIn: judgeFunction } as const
const noSettings: SettingValues = {}

/** Tries a judge on rows before a run learns from it. */
export function JudgeWorkbench({ entry, models }: JudgeWorkbenchProps) {
  const [settings, setSettings] = useSetting<SettingValues>('rewards.judge', noSettings)
  const bench = useRewardBench()
  const view = useView()
  const scoring = useScoring({ code, settings, bench, view, tests: null })
  return (
    <Workbench
      editor={
        <section aria-label="Judge" className="flex min-w-0 grow flex-col gap-4 overflow-auto p-4">
          <p className="max-w-180 text-pretty text-muted">{entry.description}</p>
          <div className="max-w-180">
            <JudgeFields values={settings} onChange={setSettings} />
          </div>
        </section>
      }
      trial={{ ...scoring, pane: <RowsPane {...{ bench, models }} isEnvironment={false} /> }}
      {...{ view }}
    />
  )
}

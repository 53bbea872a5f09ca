import { Play } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { useAnswer } from '#renderer/client/api.tsx'
import { useKeys, keyWords } from '#renderer/client/keys.ts'
import { Changes, OwnFrame, saveVersion } from './CodeFrame.tsx'
import { useCodeCheck, useCodeSettings, useOpenReward, useRewardBench } from './useRewards.ts'
import { useBattery, useDryRun, useEpisode, useTestRun, useTests } from './useTrials.ts'
import { keyTable } from '#shared/keyTable.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { codeStatus, EditorPane } from './EditorPane.tsx'
import { environmentTabs, rewardTabs, type OwnState } from './ownTabs.tsx'
import { RowsPane } from './RowsPane.tsx'
import type { Reward } from '../../parts/rewardTypes.ts'
import { Workbench } from './Workbench.tsx'

interface OwnWorkbenchProps {
  readonly reward: Reward
  readonly models: readonly string[]
  readonly library: ReactNode
}

/** Workbench of a custom reward or environment. */
export function OwnWorkbench({ reward, models, library }: OwnWorkbenchProps) {
  const { open, bench, check, settings, tabs, run, problems, goTo, openTab, setTab } = useOwnWorkbench(reward)
  useKeys({ act: run })
  const isEnvironment = reward.kind === 'environment'
  return (
    <OwnFrame
      {...{ reward, open, library }}
      main={
        <Button
          variant="primary"
          icon={<Play size={14} aria-hidden />}
          title={keyWords(keyTable.act.keys[0] ?? '')}
          onClick={run}
        >
          {isEnvironment ? 'Play' : 'Dry-run'}
        </Button>
      }
    >
      <Workbench
        editor={
          <EditorPane
            rewardKey={reward.id}
            code={open.code}
            status={codeStatus(check, ['reward', 'environment'])}
            problems={problems}
            goTo={goTo}
            context={bench.columns}
            onChange={open.change}
            onRun={run}
            onSave={() => void saveVersion(open)}
            about={<Changes open={open} />}
          />
        }
        rows={<RowsPane bench={bench} models={models} isEnvironment={isEnvironment} />}
        settings={{
          ...{ known: settings.known, values: settings.values, onChange: settings.setValues },
          columns: (bench.version?.columns ?? []).map(({ name }) => name),
        }}
        tabs={tabs}
        openTab={openTab}
        onOpenTab={setTab}
      />
    </OwnFrame>
  )
}

function useOwnWorkbench(reward: Reward) {
  const open = useOpenReward(reward.id)
  const bench = useRewardBench()
  const check = useCodeCheck(open.code)
  const settings = useCodeSettings(reward.id, check)
  const trial = { code: open.code, settings: settings.values, bench }
  const dryRun = useDryRun(trial)
  const battery = useBattery(trial)
  const episode = useEpisode({
    code: open.code,
    settings: settings.values,
    row: bench.shown.rows[0] ?? {},
  })
  const tests = useTests(reward.id)
  const testRun = useTestRun(reward.id, open.code)
  const { data: uses } = useAnswer('rewards.usedBy', { rewardId: reward.id })
  const isEnvironment = reward.kind === 'environment'
  const [openTab, setTab] = useState(isEnvironment ? 'play' : 'results')
  const [goTo, setGoTo] = useState<{ readonly line: number } | null>(null)
  const run = () => {
    setTab(isEnvironment ? 'play' : 'results')
    if (isEnvironment) episode.start()
    else dryRun.run()
  }
  const state: OwnState = {
    ...{ reward, open, bench, dryRun, battery, episode, tests, testRun, uses },
    settings: settings.values,
    openTab: setTab,
    goToLine: (line) => setGoTo({ line }),
  }
  return {
    ...{ open, bench, check, settings, run, goTo, openTab, setTab },
    problems: dryRun.problems,
    tabs: isEnvironment ? environmentTabs(state) : rewardTabs(state),
  }
}

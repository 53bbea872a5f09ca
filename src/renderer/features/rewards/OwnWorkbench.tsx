import { Play, Save } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { useAnswer } from '#renderer/client/api.tsx'
import { useKeys, keyWords } from '#renderer/client/keys.ts'
import {
  useCodeCheck,
  useCodeSettings,
  useOpenReward,
  useRewardBench,
  type OpenReward,
} from './useRewards.ts'
import { useBattery, useDryRun, useEpisode, useTestRun, useTests } from './useTrials.ts'
import { toast } from '#renderer/client/toasts.ts'
import { keyTable } from '#shared/keyTable.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { besideClasses } from '#renderer/kit/classes.ts'
import { Page } from '#renderer/kit/Page.tsx'
import { ErrorNote, Loading } from '#renderer/kit/states.tsx'
import { codeStatus, EditorPane } from './EditorPane.tsx'
import { versionNumber } from './library.ts'
import { environmentTabs, rewardTabs, type OwnState } from './ownTabs.tsx'
import { RowsPane } from './RowsPane.tsx'
import type { Reward } from './types.ts'
import { Workbench } from './Workbench.tsx'

interface OwnWorkbenchProps {
  readonly reward: Reward
  readonly models: readonly string[]
  readonly library: ReactNode
}

/** A reward or environment of one's own. */
export function OwnWorkbench({ reward, models, library }: OwnWorkbenchProps) {
  const { open, bench, check, settings, tabs, run, problems, goTo, openTab, setTab } = useOwnWorkbench(reward)
  const save = () => void saveVersion(open)
  useKeys({ act: run, save })
  const isEnvironment = reward.kind === 'environment'
  return (
    <Page
      isFull
      title={reward.name}
      about={<About open={open} />}
      main={
        <>
          <Button
            icon={<Save size={14} aria-hidden />}
            disabled={!canSave(open)}
            title={`Save as a version (${keyWords(keyTable.save.keys[0] ?? '')})`}
            onClick={save}
          >
            Save
          </Button>
          <Button
            variant="primary"
            icon={<Play size={14} aria-hidden />}
            title={keyWords(keyTable.act.keys[0] ?? '')}
            onClick={run}
          >
            {isEnvironment ? 'Play' : 'Dry-run'}
          </Button>
        </>
      }
    >
      <div className={besideClasses}>
        {library}
        {open.error !== null && <ErrorNote error={open.error} className="m-4 self-start" />}
        {!open.isLoaded && open.error === null && <Loading label="Opening the code" />}
        {open.isLoaded && (
          <Workbench
            editor={
              <EditorPane
                rewardKey={reward.id}
                code={open.code}
                status={codeStatus(check)}
                problems={problems}
                goTo={goTo}
                context={bench.columns}
                onChange={open.change}
                onRun={run}
                onSave={save}
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
        )}
      </div>
    </Page>
  )
}

/** Everything that is known and tried of one's own code. */
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

export const canSave = ({ version, isSaving, isLoaded }: OpenReward): boolean =>
  version === null && !isSaving && isLoaded

/** The gate goes on to the new version. */
export async function saveVersion(open: OpenReward): Promise<void> {
  if (!canSave(open)) return
  const number = open.versions.length + 1
  const saved = await open.save({ gatesStart: open.versions[0]?.gatesStart ?? false })
  if (saved !== undefined) toast({ title: `Version ${String(number)} is saved.`, tone: 'good' })
}

export function About({ open: { version, versions, isLoaded } }: { open: OpenReward }) {
  if (!isLoaded) return null
  if (version === null) return <Badge tone="caution">Unsaved changes</Badge>
  return <Badge>version {versionNumber(versions, version.hash)}</Badge>
}

export function Changes({ open }: { open: OpenReward }) {
  const { version, versions, discard } = open
  const newest = versions.length
  if (version !== null && version.hash === versions[0]?.hash) return <span>Version {newest}</span>
  const words =
    version === null
      ? `Changed since version ${String(newest)}`
      : `Version ${String(versionNumber(versions, version.hash))} of ${String(newest)}`
  return (
    <>
      <span className="truncate">{newest === 0 ? 'Not saved yet' : words}</span>
      {newest > 0 && (
        <Button small variant="quiet" onClick={discard}>
          {version === null ? 'Discard changes' : 'Return to the newest'}
        </Button>
      )}
    </>
  )
}

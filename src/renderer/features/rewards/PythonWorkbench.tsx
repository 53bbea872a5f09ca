import { Play } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { useKeys } from '#renderer/client/keys.ts'
import { useAnswer } from '#renderer/client/api.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { besideClasses } from '#renderer/kit/classes.ts'
import { Page, KeyValue } from '#renderer/kit/Page.tsx'
import { ErrorNote } from '#renderer/kit/states.tsx'
import { playTab, trialTabs } from './GalleryWorkbench.tsx'
import { isAllowed, PythonConsent } from '../../parts/PythonConsent.tsx'
import { PythonBadge } from './PythonFile.tsx'
import { failureWords } from './results.ts'
import { choiceName } from '../../parts/rewardChoice.ts'
import { RowsPane } from './RowsPane.tsx'
import { useRewardBench } from './useRewards.ts'
import { useBattery, useDryRun, useEpisode } from './useTrials.ts'
import { Workbench } from './Workbench.tsx'

interface PythonWorkbenchProps {
  /** Name in configs: a path, with # and a name, or the id of a package. */
  readonly id: string
  readonly interpreter: string | null
  readonly models: readonly string[]
  readonly library: ReactNode
}

/** Tries Python code as a run would use it. It is edited outside of Turnwise. */
export function PythonWorkbench({ id, interpreter, models, library }: PythonWorkbenchProps) {
  const code = { python: id, interpreter }
  const asked = { functions: [id], interpreter }
  const { data: review } = useAnswer('python.review', asked, { staleMs: 0 })
  const mayRun = review !== undefined && isAllowed(review)
  const check = useAnswer('rewards.check', { code }, { enabled: mayRun, staleMs: 0 })
  const loaded = check.data !== undefined && 'kind' in check.data ? check.data : null
  const isEnvironment = id.startsWith('gymnasium:') || loaded?.kind === 'environment'
  const bench = useRewardBench()
  const trial = { code, settings: {}, bench }
  const dryRun = useDryRun(trial)
  const battery = useBattery(trial)
  const episode = useEpisode({ code, settings: {}, row: bench.shown.rows[0] ?? {} })
  const [tab, setTab] = useState('results')
  const run = () => {
    if (!mayRun) return
    if (isEnvironment) episode.start()
    else {
      setTab('results')
      dryRun.run()
    }
  }
  useKeys({ act: run })
  return (
    <Page
      isFull
      title={choiceName({ function: id })}
      about={<PythonBadge />}
      main={
        <Button variant="primary" icon={<Play size={14} aria-hidden />} disabled={!mayRun} onClick={run}>
          {isEnvironment ? 'Play' : 'Dry-run'}
        </Button>
      }
    >
      <div className={besideClasses}>
        {library}
        <Workbench
          editor={
            <section
              aria-label="Python code"
              className="flex min-w-0 flex-col items-start gap-3 overflow-auto p-4"
            >
              <KeyValue
                entries={[
                  ['Code', <Path key="code" text={id} />],
                  ['Interpreter', <Path key="program" text={review?.[0]?.interpreter ?? '…'} />],
                  ['Functions', loaded === null ? '…' : loaded.functions.join(', ') || 'none'],
                ]}
              />
              <PythonConsent asked={asked} />
              {check.error !== null && <ErrorNote error={check.error} />}
              {check.data !== undefined && 'problem' in check.data && (
                <p className="text-sm text-bad">{failureWords(check.data.problem)}</p>
              )}
              <p className="text-sm text-pretty text-muted">
                The file is edited where it lies, with your own editor. Settings have their defaults here.
              </p>
            </section>
          }
          rows={<RowsPane bench={bench} models={models} isEnvironment={isEnvironment} />}
          tabs={isEnvironment ? [playTab(episode)] : trialTabs({ examples: [], bench, dryRun, battery })}
          openTab={tab}
          onOpenTab={setTab}
        />
      </div>
    </Page>
  )
}

const Path = ({ text }: { text: string }) => <code className="font-mono text-sm break-all">{text}</code>

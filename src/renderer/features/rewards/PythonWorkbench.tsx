import type { ReactNode } from 'react'
import { useAnswer } from '#renderer/client/api.tsx'
import { KeyValue } from '#renderer/kit/Page.tsx'
import { ErrorNote } from '#renderer/kit/states.tsx'
import { isAllowed, PythonConsent } from '#renderer/parts/PythonConsent.tsx'
import { choiceName } from '#renderer/parts/rewardChoice.ts'
import { PythonBadge } from './PythonFile.tsx'
import { failureWords } from './results.ts'
import { RowsPane } from './RowsPane.tsx'
import { useRewardBench } from './useRewards.ts'
import { examplesTab, usePlaying, useScoring } from './useRewardTrial.tsx'
import { useView, Workbench } from './Workbench.tsx'

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
  const view = useView()
  const input = { code, settings: {}, bench, view }
  const scoring = useScoring({ ...input, tests: examplesTab([]) })
  const playing = usePlaying(input)
  const { button, act, tabs } = isEnvironment ? playing : scoring
  return (
    <Workbench
      title={choiceName({ function: id })}
      about={<PythonBadge />}
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
      trial={{
        tabs,
        button: { ...button, isDisabled: !mayRun },
        act: () => mayRun && act(),
        pane: <RowsPane {...{ bench, models, isEnvironment }} />,
      }}
      {...{ library, view }}
    />
  )
}

const Path = ({ text }: { text: string }) => <code className="font-mono text-sm break-all">{text}</code>

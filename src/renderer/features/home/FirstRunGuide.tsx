import { X } from 'lucide-react'
import { useState, useEffect, useCallback } from 'react'
import { formatReward } from '#renderer/client/format.ts'
import { useAddFile } from '#renderer/client/adding.ts'
import { navigate, useRoute } from '#renderer/client/route.ts'
import { type RunEntry, useRunEntry } from '#renderer/client/runs.ts'
import { writePrompts } from '#renderer/parts/candidates.ts'
import { Button, IconButton } from '#renderer/kit/Button.tsx'
import { useSetting } from '#renderer/client/settings.ts'
import { useAnswer, useApi } from '#renderer/client/api.tsx'
import { asError, toast, toastError } from '#renderer/client/toasts.ts'

/** Explains the first run while it trains, pointing at what is on screen. */
export function FirstRunGuide() {
  const { run, close } = useGuidedRun()
  if (run === null) return null
  return <Guide key={run.id} run={run} onClose={close} />
}

function Guide({ run, onClose }: { run: RunEntry; onClose: () => void }) {
  const [at, setAt] = useSetting<{ runId: string; step: number } | null>('guide.at', null)
  const index = shownStep(at?.runId === run.id ? at.step : 0, useRoute().rest[1] ?? 'overview')
  const step = guideSteps[index]
  const success = successWords(run)
  const place = useGuideTarget(step?.target ?? null)
  const go = (next: number) => {
    setAt({ runId: run.id, step: next })
    const tab = guideSteps[next]?.tab
    if (tab !== undefined) navigate(`/runs/${run.id}/${tab}`)
  }
  return (
    <>
      {place !== null && <Outline place={place} />}
      <aside
        aria-label="Guide"
        className="absolute right-4 bottom-3 z-30 w-90 max-w-[calc(100vw-32px)] rounded border border-accent bg-bg p-4 shadow-float"
      >
        <header className="flex items-start gap-2">
          <h2 className="grow font-semibold text-balance">
            {step?.title ?? (success === null ? 'What to do next' : `It worked: ${success}`)}
          </h2>
          <IconButton small label="Close the guide" icon={X} onClick={onClose} />
        </header>
        {step === undefined ? (
          <NextSteps run={run} onClose={onClose} />
        ) : (
          <>
            <p className="mt-1 text-muted text-pretty">{step.words}</p>
            {success !== null && (
              <p className="mt-2 font-medium text-good" role="status">
                It worked: eval reward {success}
              </p>
            )}
            <footer className="mt-3 flex items-center gap-2">
              <span className="grow text-sm text-faint tabular-nums">
                {index + 1} of {guideSteps.length}
              </span>
              {index > 0 && <Button onClick={() => go(index - 1)}>Back</Button>}
              <Button variant="primary" onClick={() => go(index + 1)}>
                {index + 1 < guideSteps.length ? 'Next' : 'Finish'}
              </Button>
            </footer>
          </>
        )}
      </aside>
    </>
  )
}

/** Formats “0.32 → 0.88”; null if the run is not over or did not improve. */
function successWords({ status, rewardBefore, rewardAfter }: RunEntry): string | null {
  if (status !== 'finished' || rewardBefore === null || rewardAfter === null || rewardAfter <= rewardBefore)
    return null
  return `${rewardBefore.toFixed(2)} → ${rewardAfter.toFixed(2)}`
}

/** Returns the step that the guide is at, or the first about another tab that was opened meanwhile. */
export function shownStep(kept: number, tab: string): number {
  const own = guideSteps.findIndex((step) => step.tab === tab)
  return own < 0 || kept >= guideSteps.length || guideSteps[kept]?.tab === tab ? kept : own
}

const air = 4

const Outline = ({ place: { left, top, width, height } }: { place: Place }) => (
  <div
    aria-hidden
    className="pointer-events-none fixed z-30 rounded border-2 border-accent"
    style={{ left: left - air, top: top - air, width: width + 2 * air, height: height + 2 * air }}
  />
)

function NextSteps({ run, onClose }: { run: RunEntry; onClose: () => void }) {
  const { chooseAndAdd } = useAddFile()
  const isOver = run.status === 'finished'
  const { data: telling, error } = useAnswer('samples.telling', { runId: run.id }, { enabled: isOver })
  const compare = () =>
    navigate('/playground/vote', {
      a: run.model,
      b: `${run.model}~${run.id}@${String(run.step)}`,
      prompts: writePrompts(telling?.learned ?? []),
      ...(telling?.failing == null ? {} : { failing: telling.failing }),
    })
  const then = (act: () => void) => () => {
    onClose()
    act()
  }
  return (
    <>
      <p className="mt-1 text-muted text-pretty">
        {isOver
          ? `The eval reward went from ${formatReward(run.rewardBefore)} to ${formatReward(run.rewardAfter)}.`
          : 'The run continues by itself; try these when it is done.'}
      </p>
      <div className="mt-3 flex flex-col gap-2">
        <Button variant="primary" disabled={telling === undefined && error === null} onClick={then(compare)}>
          Compare before and after
        </Button>
        <Button onClick={then(() => navigate('/rewards/builtin.starter-correct'))}>Change the reward</Button>
        <Button onClick={then(chooseAndAdd)}>Use my own data</Button>
      </div>
    </>
  )
}

/* What the first run points at, one thing after the other. */

interface GuideStep {
  /** CSS selector of the element pointed at. */
  readonly target: string
  readonly tab: string
  readonly title: string
  readonly words: string
}

const guideSteps: readonly GuideStep[] = [
  {
    target: '[data-chart]',
    tab: 'overview',
    title: 'The reward rises as the model learns',
    words:
      'The task: short exercises (add, count, sort, reverse, find the largest), answered with the result alone. In each step the model answers some of them many times; answers that score better than the rest of their group become likelier. This line is the mean score.',
  },
  {
    target: 'section[aria-label="Completion"]',
    tab: 'samples',
    title: 'Read every answer',
    words:
      'One completion of the model with its reward and the parts it is made of. Edit a copy and it is scored again while you type.',
  },
  {
    target: '[aria-label^="Tokens;"]',
    tab: 'samples',
    title: 'Colours show each token’s part',
    words:
      'By advantage, ratio, KL, entropy or probability: where the model was sure, and what the update pushed up or down.',
  },
  {
    target: '[role="table"][aria-label="Checkpoints"]',
    tab: 'checkpoints',
    title: 'Checkpoints keep what was learned',
    words:
      'Fork one with other settings, try it in Playground, or take its adapter home. A run that was stopped resumes from its newest.',
  },
]

/** Returns the sample run on the page, unless its guide was closed. */
function useGuidedRun(): { readonly run: RunEntry | null; readonly close: () => void } {
  const { here, rest } = useRoute()
  const [closedFor, setClosedFor] = useSetting<string | null>('guide.closedFor', null)
  const run = useRunEntry(here?.view.id === 'runs' ? (rest[0] ?? '') : '')
  const isGuided = run !== undefined && run.tags.includes(sampleTag) && closedFor !== run.id
  return { run: isGuided ? run : null, close: () => setClosedFor(run?.id ?? null) }
}

interface Place {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
}

const lookEveryMs = 200

/** Returns the screen position of the first matching element, or null while there is none. */
function useGuideTarget(selector: string | null): Place | null {
  const [place, setPlace] = useState<Place | null>(null)
  useEffect(() => {
    const look = () => {
      const element = selector === null ? null : document.querySelector(selector)
      const box = element?.getBoundingClientRect()
      setPlace((before) => {
        if (box === undefined || box.width === 0) return null
        const { left, top, width, height } = box
        const isSame =
          before?.left === left && before.top === top && before.width === width && before.height === height
        return isSame ? before : { left, top, width, height }
      })
    }
    look()
    const timer = setInterval(look, lookEveryMs)
    return () => clearInterval(timer)
  }, [selector])
  return place
}

// The sample run: starter model, demo tasks, no network; and its removal.

/** Tag of runs that belong to the sample. */
export const sampleTag = 'sample'

export function useSampleRun(): { readonly start: () => void; readonly isStarting: boolean } {
  const client = useApi()
  const [isStarting, setStarting] = useState(false)
  const start = useCallback(() => {
    setStarting(true)
    const begin = async () => {
      const { config, tag } = await client.call('runs.sample')
      const { runId } = await client.call('runs.start', { config, tags: [tag] })
      navigate(`/runs/${runId}/overview`)
    }
    begin()
      .catch((thrown: unknown) => toastError(asError(thrown)))
      .finally(() => setStarting(false))
  }, [client])
  return { start, isStarting }
}

/** Deletes every run of the sample that is not being trained. */
export function useRemoveSample(): (runIds: readonly string[]) => void {
  const client = useApi()
  return useCallback(
    (runIds) => {
      Promise.all(runIds.map((runId) => client.call('runs.delete', { runId }))).then(
        () => toast({ title: 'The sample is removed.', tone: 'good' }),
        (thrown: unknown) => toastError(asError(thrown)),
      )
    },
    [client],
  )
}

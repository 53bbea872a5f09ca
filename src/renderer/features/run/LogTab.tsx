import { useVirtualizer } from '@tanstack/react-virtual'
import { Circle, CircleCheck, OctagonAlert, TriangleAlert } from 'lucide-react'
import { useEffect, useMemo, useRef, useState } from 'react'
import { useAnswer } from '#renderer/client/api.tsx'
import { useKeys } from '#renderer/client/keys.ts'
import { useWorkerOf, type RunEntry, type StoredEvent } from '#renderer/client/runs.ts'
import { useFollowedScroll } from '#renderer/kit/scroll.ts'
import { formatDate, formatTime, formatBytes, formatReward, plural } from '#renderer/client/format.ts'
import { Checkbox } from '#renderer/kit/choices.tsx'
import { classes } from '#renderer/kit/classes.ts'
import { SearchInput } from '#renderer/kit/inputs.tsx'
import { SplitPane } from '#renderer/kit/SplitPane.tsx'
import { CopyButton } from '#renderer/kit/states.tsx'
import { readChanges } from '#shared/config/changes.ts'
import type { Remark } from '#shared/diagnosis.ts'
import { madeWords } from '#renderer/client/runSettings.ts'
import { stepsOfFolders } from './chartEvents.ts'
import { deviceOfEvent, deviceWords } from '#renderer/parts/runFacts.ts'

/** Events in words, and the output of the process. */
export function LogTab({ run, events }: { readonly run: RunEntry; readonly events: readonly StoredEvent[] }) {
  const [text, setText] = useState('')
  const [isFollowing, setFollowing] = useState(true)
  const search = useRef<HTMLInputElement>(null)
  useKeys({ filter: () => search.current?.focus() })
  return (
    <>
      <div className="flex shrink-0 items-center gap-3 border-b border-line px-page py-2">
        <SearchInput ref={search} label="Filter the log" value={text} onChange={setText} className="w-72" />
        <Checkbox checked={isFollowing} onChange={setFollowing} label="Follow" />
      </div>
      <SplitPane id="run-log" sizes={[50, 50]} minimums={[280, 240]}>
        <EventList events={events} text={text} isFollowing={isFollowing} />
        <ProcessOutput run={run} text={text} isFollowing={isFollowing} />
      </SplitPane>
    </>
  )
}

interface ListProps {
  readonly events: readonly StoredEvent[]
  readonly text: string
  readonly isFollowing: boolean
}

const rowHeight = 42

function EventList({ events, text, isFollowing }: ListProps) {
  const scroller = useRef<HTMLDivElement>(null)
  const told = useMemo(() => events.map((stored) => ({ stored, words: eventWords(stored) })), [events])
  const shown = useMemo(() => told.filter(({ words }) => matchesEvent(words, text)), [told, text])
  const virtual = useVirtualizer({
    count: shown.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
  })
  useEffect(() => {
    if (isFollowing && shown.length > 0) virtual.scrollToIndex(shown.length - 1)
  }, [isFollowing, shown.length, virtual])
  return (
    <section aria-label="Events" className="flex min-h-0 grow flex-col">
      <h2 className="flex h-8 shrink-0 items-center border-b border-line bg-panel pl-page text-sm font-medium text-muted">
        Events {shown.length < events.length && `· ${String(shown.length)} of ${String(events.length)}`}
      </h2>
      <div
        ref={scroller}
        tabIndex={0}
        aria-label="Events"
        role="group"
        className="min-h-0 grow overflow-auto -outline-offset-2"
      >
        <ol className="relative" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start }) => {
            const item = shown[index]
            if (item === undefined) return null
            return <EventRow key={item.stored.id} at={item.stored.event.at} words={item.words} top={start} />
          })}
        </ol>
        {shown.length === 0 && (
          <p className="px-page py-3 text-muted">
            {text === '' ? 'Nothing has happened yet.' : 'No events match.'}
          </p>
        )}
      </div>
    </section>
  )
}

const icons = { plain: Circle, good: CircleCheck, caution: TriangleAlert, bad: OctagonAlert } as const
const tones = { plain: 'text-faint', good: 'text-good', caution: 'text-caution', bad: 'text-bad' } as const

function EventRow({ at, words, top }: { at: number; words: EventWords; top: number }) {
  const { title, detail, tone } = words
  const Icon = icons[tone]
  return (
    <li
      className="absolute inset-x-0 flex items-center gap-3 border-b border-line px-page"
      style={{ height: rowHeight, transform: `translateY(${String(top)}px)` }}
    >
      <time
        title={at === 0 ? undefined : formatDate(at)}
        className="w-16 shrink-0 font-mono text-sm text-muted tabular-nums"
      >
        {at === 0 ? '' : formatTime(at)}
      </time>
      <Icon size={14} aria-hidden className={classes('shrink-0', tones[tone])} />
      <div className="min-w-0 grow leading-[18px]">
        <p className="truncate" title={title}>
          {title}
        </p>
        {detail !== undefined && (
          <p className="truncate text-sm text-muted" title={detail}>
            {detail}
          </p>
        )}
      </div>
    </li>
  )
}

interface OutputProps {
  readonly run: RunEntry
  readonly text: string
  readonly isFollowing: boolean
}

function ProcessOutput({ run, text, isFollowing }: OutputProps) {
  const isLiving = useWorkerOf(run.id) !== undefined
  const { data = '' } = useAnswer('runs.log', { runId: run.id, maxBytes: 262_144 }, { keep: true })
  const lines = useMemo(() => {
    const wanted = text.trim().toLowerCase()
    const all = data.split('\n')
    return wanted === '' ? all : all.filter((line) => line.toLowerCase().includes(wanted))
  }, [data, text])
  const shown = lines.join('\n').trimEnd()
  const scroller = useFollowedScroll<HTMLPreElement>(shown, isFollowing)
  return (
    <section aria-label="Output of the process" className="flex min-h-0 grow flex-col">
      <h2 className="flex h-8 shrink-0 items-center border-b border-line bg-panel pr-2 pl-4 text-sm font-medium text-muted">
        <span className="grow">Output of the process</span>
        <CopyButton text={data} label="Copy the output" />
      </h2>
      <pre
        ref={scroller}
        tabIndex={0}
        aria-label="Output of the process"
        className="min-h-0 grow overflow-auto px-4 py-2 font-mono text-sm break-all whitespace-pre-wrap -outline-offset-2"
      >
        {shown === '' ? (
          <span className="font-sans text-base break-normal text-muted">
            {text !== '' && data !== ''
              ? 'No lines match.'
              : isLiving
                ? 'No output, as it should be: the process writes only when something is wrong.'
                : 'The process wrote nothing.'}
          </span>
        ) : (
          shown
        )}
      </pre>
    </section>
  )
}

// Events of a run as sentences.

interface EventWords {
  readonly title: string
  readonly detail?: string
  readonly tone: 'plain' | 'good' | 'caution' | 'bad'
  /** Null if it belongs to no step. */
  readonly step: number | null
}

const number = (value: unknown): number | null => (typeof value === 'number' ? value : null)
const text = (value: unknown): string => (typeof value === 'string' ? value : '')

const phases: Readonly<Record<string, (step: number) => string>> = {
  preparing: () => 'Preparing: model and data are loaded',
  evaluating: (step) => (step === 0 ? 'Evaluating before training' : `Evaluating after step ${String(step)}`),
  training: (step) => `Training from step ${String(step + 1)} on`,
  paused: (step) => `Paused after step ${String(step)}`,
  finished: (step) => `Finished after step ${String(step)}`,
  stopped: (step) => `Stopped after step ${String(step)}`,
}

const remarks = (findings: unknown): readonly Partial<Remark>[] =>
  Array.isArray(findings) ? (findings as readonly Partial<Remark>[]) : []

const tellers: Readonly<Record<string, (event: StoredEvent['event']) => Omit<EventWords, 'step'>>> = {
  status(event) {
    const phase = text(event['phase'])
    const title = phases[phase]?.(number(event['step']) ?? 0) ?? phase
    return { title, tone: phase === 'finished' ? 'good' : phase === 'paused' ? 'caution' : 'plain' }
  },
  manifest: () => ({
    title: 'Noted what the run depends on',
    detail: 'Digests of model, data, rewards and settings.',
    tone: 'plain',
  }),
  device: (event) => ({
    title: `Computes on ${deviceWords(deviceOfEvent(event) ?? 'cpu')}`,
    detail: text(event['reason']),
    tone: 'plain',
  }),
  schedule(event) {
    const stages = Array.isArray(event['stages']) ? event['stages'].length : 0
    return { title: `Planned ${plural(stages, 'stage')} of steps and evaluations`, tone: 'plain' }
  },
  'settings-changed'(event) {
    const changes = readChanges(event)
    const step = number(event['step']) ?? 0
    const made = changes.filter((change) => change.step === step)
    if (made.length > 0)
      return {
        title: `Settings changed after step ${String(step)}`,
        detail: madeWords(made),
        tone: 'caution',
      }
    return { title: 'Settings changed before stay changed', detail: madeWords(changes), tone: 'plain' }
  },
  'checkpoint-saved'(event) {
    const reward = number(event['reward'])
    const held = reward === null ? '' : `, eval reward ${formatReward(reward)}`
    return {
      title: `Checkpoint ${String(number(event['step']) ?? 0)} saved`,
      detail: `${formatBytes(number(event['sizeBytes']))}${held}`,
      tone: 'good',
    }
  },
  'checkpoints-removed'(event) {
    const steps = stepsOfFolders(event['directories'])
    return {
      title: `${plural(steps.length, 'older checkpoint')} removed to save space`,
      detail: `Of step ${steps.join(', ')}.`,
      tone: 'plain',
    }
  },
  warning: (event) => ({ title: text(event['message']), tone: 'caution' }),
  diagnosis(event) {
    const [gravest] = remarks(event['findings'])
    if (gravest === undefined) return { title: 'Nothing looks wrong anymore', tone: 'good' }
    return { title: text(gravest.words), tone: gravest.severity === 'problem' ? 'bad' : 'caution' }
  },
  error(event) {
    const hint = text(event['hint'])
    return { title: text(event['message']), ...(hint === '' ? {} : { detail: hint }), tone: 'bad' }
  },
  resumed: () => ({
    title: 'Resumed from a checkpoint',
    detail: 'Steps after it, if there were any, are trained again.',
    tone: 'plain',
  }),
  'damaged-line': (event) => ({
    title: 'A line of the log could not be read and was skipped',
    detail: text(event['text']),
    tone: 'caution',
  }),
}

export function eventWords({ event }: StoredEvent): EventWords {
  const told = tellers[event.type]?.(event) ?? { title: event.type, tone: 'plain' as const }
  return { ...told, step: number(event['step']) }
}

export function matchesEvent(words: EventWords, wanted: string): boolean {
  const hay = `${words.title} ${words.detail ?? ''} ${words.step === null ? '' : `step ${String(words.step)}`}`
  return hay.toLowerCase().includes(wanted.trim().toLowerCase())
}

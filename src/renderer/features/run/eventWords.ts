/** The events of a run as sentences. */
import type { Remark } from '#shared/diagnosis.ts'
import type { StoredEvent } from '#renderer/client/runs.ts'
import { formatBytes, formatReward, plural } from '#renderer/client/format.ts'
import { stepsOfFolders } from './chartEvents.ts'
import { deviceOfEvent, deviceWords } from './runFacts.ts'

export interface EventWords {
  readonly title: string
  readonly detail?: string
  readonly tone: 'plain' | 'good' | 'caution' | 'bad'
  /** null: it belongs to no step. */
  readonly step: number | null
}

type Event = StoredEvent['event']

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

type Teller = (event: Event) => Omit<EventWords, 'step'>

const tellers: Readonly<Record<string, Teller>> = {
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
    if (gravest === undefined) return { title: 'Nothing looks wrong any more', tone: 'good' }
    return { title: text(gravest.words), tone: gravest.severity === 'problem' ? 'bad' : 'caution' }
  },
  error(event) {
    const hint = text(event['hint'])
    return { title: text(event['message']), ...(hint === '' ? {} : { detail: hint }), tone: 'bad' }
  },
  resumed: () => ({
    title: 'Resumed from a checkpoint',
    detail: 'What came after it is trained again.',
    tone: 'caution',
  }),
  'damaged-line': (event) => ({
    title: 'A line of the log could not be read and is passed over',
    detail: text(event['text']),
    tone: 'caution',
  }),
}

export function eventWords({ event }: StoredEvent): EventWords {
  const told = tellers[event.type]?.(event) ?? { title: event.type, tone: 'plain' as const }
  return { ...told, step: number(event['step']) }
}

/** Lines whose words have the text. */
export function matchesEvent(words: EventWords, wanted: string): boolean {
  const hay = `${words.title} ${words.detail ?? ''} ${words.step === null ? '' : `step ${String(words.step)}`}`
  return hay.toLowerCase().includes(wanted.trim().toLowerCase())
}

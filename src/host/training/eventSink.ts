/** Takes of a run's events what files for other programs hold. */
import type { RunEvent } from '#shared/events.ts'
import type { KnownEvent } from '#host/store/loggedEvents.ts'

/** Takes what a run reports. */
export interface EventSink extends Disposable {
  /** Errors: AppError 'file/unwritable'. */
  take(event: RunEvent): void
}

/** Samples of a step that are written as text. */
export const mostTexts = 4

/** The numbers that an event reports, by name. */
export const numbersOf = (
  event: RunEvent | KnownEvent,
): readonly (readonly [name: string, value: number])[] =>
  event.type === 'step' || event.type === 'evaluation'
    ? Object.entries(event.metrics).filter((entry): entry is [string, number] => typeof entry[1] === 'number')
    : []

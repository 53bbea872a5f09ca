/**
 * The limits of everything that runs code or reads files from elsewhere in a process of its own (docs/reference.md, «Limits»). Those
 * that a config sets are in `shared/config/`; readers that run in the host itself count steps, characters and bytes instead.
 */
import type { WorkLimit } from './workLimit.ts'

/** A process that waits for nothing but its processor gets it within this time on any machine. */
const idleMs = 60_000

/** Limits the time until a process of ours sends its first message. */
export const startLimit: WorkLimit = { workMs: 20_000, idleMs }

/** Processor time that a sandbox gets beyond a call's own limit: for reporting, and for code that it cannot interrupt. */
const uninterruptedMs = 2_000

/** Processor time for evaluating a module in the sandbox. */
export const loadMs = 2_000

/** Types are taken out of the code first. */
export const loadLimit: WorkLimit = { workMs: loadMs + 2 * uninterruptedMs, idleMs }

/** A loss is recorded in no time, and somebody waits for it at every change of the code. */
export const traceMs = 2_000

/** Limits one call in the sandbox whose code may use `callMs` of processor time. */
export const callLimit = (callMs: number): WorkLimit => ({ workMs: callMs + uninterruptedMs, idleMs })

/** Advantages of whole batches go in and out of a loss as text. */
export const lossLimits = { callMs: 20_000, batchMs: 60_000, memoryMb: 512, answerCharacters: 64_000_000 }

/** Limits one answer about texts, including reading the tokenizer: the largest take some seconds. */
export const textLimit: WorkLimit = { workMs: 15_000, idleMs }

/** Limits the time from Python's start to its first message; a slow disk is no fault. */
export const pythonStartLimit: WorkLimit = { workMs: 60_000, idleMs: 300_000 }

/** Loading imports what the code imports: torch takes its time. */
export const pythonLoadLimit: WorkLimit = { workMs: 300_000, idleMs: 600_000 }

/** Code that makes the rows of a data set. */
export const pythonRowsSeconds = 3_600

/** Python may also wait, for a network or another program: ten times as long, up to an hour. */
export const pythonCallLimit = (seconds: number): WorkLimit => ({
  workMs: 1000 * seconds,
  idleMs: 1000 * Math.max(seconds, Math.min(10 * seconds, 3_600)),
})

/**
 * A run's rewards on one text. Code has limits of its own and is waited for; what comes with the program has none, such as a pattern
 * in its settings. A judge is opened first.
 */
export const scoreLimit = (isJudged: boolean): WorkLimit => ({
  workMs: isJudged ? 600_000 : 30_000,
  idleMs: 3_600_000,
})

/** Time limit for reaching a server; how long it may then be silent is a setting (`timeoutSeconds`). */
export const connectSeconds = 30

/** The worker side of replica.ts: a thread that scores and learns with its own learner. */
import { parentPort, workerData } from 'node:worker_threads'
import { AppError } from '#shared/errors.ts'
import type { Heads, LossCoefficients } from '../policy.ts'
import { AdapterParameters } from './adapterParameters.ts'
import { type LearnerOptions, Learner } from './learner.ts'
import type { FromReplica, LearnMessage, PortableError, ScoreMessage, ToReplica } from './replica.ts'
import { learningTargets } from './trainedParameters.ts'
import { ValueHeadParameters } from './valueHead.ts'

const options = workerData as LearnerOptions
const { config } = options.source
let learner: Promise<Learner> | null = null
/** Stops the task that is being worked on. */
let stopping = new AbortController()
let answer: ((coefficients: readonly LossCoefficients[]) => void) | null = null
let task: Promise<void> = Promise.resolve()

parentPort?.on('message', (message: ToReplica) => {
  switch (message.kind) {
    case 'score':
    case 'learn':
      stopping = new AbortController()
      task = work(message, stopping.signal)
      break
    case 'coefficients':
      answer?.(message.coefficients)
      break
    case 'stop':
      stopping.abort()
      break
    case 'close':
      void task.then(close)
  }
})

const tell = (message: FromReplica): void => parentPort?.postMessage(message)

async function work(message: ScoreMessage | LearnMessage, signal: AbortSignal): Promise<void> {
  try {
    const own = await (learner ??= Learner.create(options))
    const heads =
      message.kind === 'score' ? await score(own, message, signal) : await learn(own, message, signal)
    tell({ kind: 'done', heads })
  } catch (error) {
    tell({ kind: 'failed', error: portable(error) })
  }
}

function score(own: Learner, message: ScoreMessage, signal: AbortSignal): Promise<Heads[]> {
  const adapter = new AdapterParameters(config, options.lora, message.adapter)
  const head = message.head && new ValueHeadParameters(message.head)
  return own.score(message.sequences, head ? { adapter, head } : { adapter }, { ...message.options, signal })
}

function learn(own: Learner, message: LearnMessage, signal: AbortSignal): Promise<Heads[]> {
  const { sequences, flat, critic, place } = message
  const targets = learningTargets({ config, lora: options.lora, critic }, flat)
  const coefficients = (heads: readonly Heads[]) => coefficientsOf(heads, signal)
  return own.accumulate({ sequences, targets, place, options: { ...message.options, signal }, coefficients })
}

/** The loss lives on the other side. */
function coefficientsOf(heads: readonly Heads[], signal: AbortSignal): Promise<readonly LossCoefficients[]> {
  return new Promise((resolve, reject) => {
    answer = resolve
    signal.addEventListener('abort', () => reject(signal.reason as Error))
    tell({ kind: 'heads', heads })
  })
}

function portable(error: unknown): PortableError {
  if (error instanceof AppError) return { code: error.code, message: error.message, hint: error.hint }
  return { code: null, message: error instanceof Error ? error.message : String(error), hint: undefined }
}

async function close(): Promise<void> {
  const created = await learner?.catch(() => null)
  created?.[Symbol.dispose]()
  parentPort?.close()
}

/** Diagnoses a run in progress: keeps what the rules read, and reports when their findings change. */
import { AppError } from '#shared/errors.ts'
import type { Diagnosis, FindingId } from '#shared/diagnosis.ts'
import type { DiagnosisEvent, RunEvent } from '#shared/events.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { algorithmById, type AlgorithmById } from '../algorithms/registry.ts'
import { diagnose } from './diagnose.ts'
import { type DiagnosedSample, isRead, type Point } from './diagnosedRun.ts'

/** Samples of the last steps; rules ask for no older ones. */
const maxSamples = 200
const maxHeldOut = 48
/** Limits of a series: beyond the first, every second point is dropped, but for its beginning and its end. */
const [maxPoints, firstPoints, lastPoints] = [4096, 64, 1024]
/** Steps after which a checkpoint counts as sound: a fall shows by then. */
const probation = 10

const destruction: readonly FindingId[] = ['policy-destroyed', 'reward-collapse', 'diverged']

export class RunWatch {
  readonly #config: RunConfig
  readonly #algorithmById: AlgorithmById
  readonly #metrics = new Map<string, Point[]>()
  #samples: DiagnosedSample[] = []
  #heldOutPrompts: string[] = []
  #checkpoints: number[] = []
  #step = 0
  #steps = Infinity
  #nextLook = 1
  #soundUntil: number | null = null
  #told: DiagnosisEvent['findings'] = []

  constructor(config: RunConfig, byId: AlgorithmById = algorithmById) {
    this.#config = config
    this.#algorithmById = byId
  }

  /** Range of checkpoints that must stay, to go back to. */
  get kept(): { readonly soundUntil: number | null; readonly provedUntil: number | null } {
    const mayEnd = this.#config.diagnosis.stopOn !== 'never'
    return { soundUntil: this.#soundUntil, provedUntil: mayEnd ? this.#step - probation : null }
  }

  /** Takes in an event of the past, after a resume. */
  remember(event: RunEvent): void {
    if (event.type === 'diagnosis') this.#told = event.findings
    this.#keep(event)
  }

  /**
   * Takes in an event and returns the diagnosis to report after it; null where nothing changed. Errors: AppError
   * 'run/destroyed' from `endOn`.
   */
  take(event: RunEvent): DiagnosisEvent | null {
    this.#keep(event)
    const isLook = event.type === 'evaluation' || (event.type === 'step' && event.step >= this.#nextLook)
    if (!isLook) return null
    // Rules read whole series: every step of the first hundreds, later every half per cent.
    this.#nextLook = this.#step + Math.max(1, Math.floor(this.#step / 200))
    const diagnosis = this.#diagnose()
    this.#soundUntil = diagnosis.soundUntil
    const findings = diagnosis.findings
      .filter(({ severity }) => severity !== 'note')
      .map(({ id, severity, words }) => ({ id, severity, words }))
    const said: DiagnosisEvent = { type: 'diagnosis', step: this.#step, findings }
    const isOver = this.#step >= this.#steps
    if (stampOf(findings) === stampOf(this.#told) && !(isOver && wordsOf(findings) !== wordsOf(this.#told)))
      return null
    this.#told = findings
    return said
  }

  /** Ends the run if its config asks for that after these findings. Errors: AppError 'run/destroyed'. */
  requireWorth({ findings, step }: DiagnosisEvent): void {
    const { stopOn } = this.#config.diagnosis
    const reason = findings.find(
      ({ id, severity }) =>
        (stopOn === 'problem' && severity === 'problem') || (stopOn !== 'never' && destruction.includes(id)),
    )
    if (reason === undefined) return
    const sound = this.#checkpoints.findLast((each) => each <= (this.#soundUntil ?? step))
    throw new AppError(
      'run/destroyed',
      `Stopped after step ${step} because of diagnosis.stopOn: ${reason.words}`,
      sound === undefined
        ? {
            text: 'There is no checkpoint from before it.',
            command: '`turnwise runs diagnose` suggests settings for a new run.',
          }
        : {
            text: `The checkpoint of step ${sound}, from before it, is kept.`,
            command: '`turnwise runs diagnose` suggests changes for a fork from it.',
          },
    )
  }

  #diagnose(): Diagnosis {
    const history = {
      metrics: this.#metrics,
      samples: this.#samples,
      heldOutPrompts: this.#heldOutPrompts,
      checkpoints: this.#checkpoints,
      failure: null,
    }
    return diagnose(this.#config, history, this.#algorithmById)
  }

  #keep(event: RunEvent): void {
    switch (event.type) {
      case 'step':
        this.#step = event.step
        this.#steps = event.steps
        this.#measure(event)
        break
      case 'evaluation':
        this.#measure(event)
        break
      case 'samples':
        this.#look(event)
        break
      case 'checkpoint-saved':
        this.#checkpoints = [...this.#checkpoints.filter((step) => step < event.step), event.step]
        break
      case 'checkpoints-removed': {
        const gone = new Set(event.directories.map((directory) => Number(/(\d+)\D*$/.exec(directory)?.[1])))
        this.#checkpoints = this.#checkpoints.filter((step) => !gone.has(step))
        break
      }
      default:
    }
  }

  #measure({ step, metrics }: Extract<RunEvent, { type: 'step' | 'evaluation' }>): void {
    for (const [name, value] of Object.entries(metrics)) {
      if (!isRead(name)) continue
      const points = this.#metrics.get(name) ?? []
      // The log has null for a value that was not a number.
      points.push({ step, value: isNumber(value) ? value : null })
      this.#metrics.set(name, points.length > maxPoints ? thinned(points) : points)
    }
  }

  #look({ step, source, samples }: Extract<RunEvent, { type: 'samples' }>): void {
    if (source === 'evaluation') {
      this.#heldOutPrompts = [...this.#heldOutPrompts, ...samples.map(({ prompt }) => prompt)].slice(
        -maxHeldOut,
      )
      return
    }
    const seen = samples.map(({ row, prompt, completion, reward, parts, logged, failures }) => ({
      step,
      row,
      prompt,
      completion,
      reward,
      parts,
      ...(logged === undefined ? {} : { logged }),
      ...(failures === undefined ? {} : { failures }),
    }))
    this.#samples = [...this.#samples, ...seen].slice(-maxSamples)
  }
}

const isNumber = (value: number | undefined | null): value is number =>
  typeof value === 'number' && Number.isFinite(value)

/**
 * Identifies findings that are repeated only when they change: figures within the words do with every step, and count
 * at the end alone.
 */
const stampOf = (findings: DiagnosisEvent['findings']): string =>
  findings.map(({ id, severity }) => `${id} ${severity}`).join()

const wordsOf = (findings: DiagnosisEvent['findings']): string => findings.map(({ words }) => words).join()

const thinned = (points: readonly Point[]): Point[] => {
  const end = points.length - lastPoints
  return points.filter((_, i) => i < firstPoints || i >= end || i % 2 === 0)
}

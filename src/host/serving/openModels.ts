/**
 * Keeps models open, a process each: a request for one that is open already shares it, and one that has not been used
 * for a while is ended.
 */
import type { WorkerEnvironment } from '#host/processes/messages.ts'
import { jobStarter, type StartJob } from '#host/processes/job.ts'
import { ServedModel, servingJob, type ServingSetup } from './servedProcess.ts'
import type { AskText } from '#host/models/textQuestion.ts'

export interface OpenModelsOptions {
  /** Starts processes; child processes of Node if absent. */
  readonly startJob?: StartJob | undefined
  readonly environment: () => WorkerEnvironment
  /** Encodes long prompts. */
  readonly askText: AskText
  /** Called whenever a model is opened or ended. */
  readonly onChanged: () => void
}

/** Disposing it says that its holder needs the model no more. */
export interface Lease extends Disposable {
  readonly model: ServedModel
}

export interface LeaseOptions {
  /** Time that the model stays open without users, ms. */
  readonly idleMs: number
  /** Aborted when the requester goes away; if nobody else waits, opening is given up. */
  readonly signal?: AbortSignal
}

interface Entry {
  readonly key: string
  readonly kill: () => void
  readonly opening: Promise<ServedModel>
  isOpen: boolean
  holders: number
  idle: NodeJS.Timeout | undefined
}

export class OpenModels implements Disposable {
  readonly #options: OpenModelsOptions
  readonly #entries = new Map<string, Entry>()
  #changes = 0

  constructor(options: OpenModelsOptions) {
    this.#options = options
  }

  /** Errors: as `ServedModel.open`. */
  async lease(setup: ServingSetup, { idleMs, signal }: LeaseOptions): Promise<Lease> {
    const entry = this.#entries.get(keyOf(setup)) ?? this.#begin(setup)
    entry.holders++
    clearTimeout(entry.idle)
    let isHeld = true
    const release = (lingerMs: number) => {
      if (!isHeld) return
      isHeld = false
      this.#release(entry, lingerMs)
    }
    const giveUp = () => release(entry.isOpen ? idleMs : 0)
    signal?.addEventListener('abort', giveUp)
    if (signal?.aborted === true) giveUp()
    try {
      const model = await entry.opening
      return { model, [Symbol.dispose]: () => release(idleMs) }
    } catch (error) {
      release(0)
      throw error
    } finally {
      signal?.removeEventListener('abort', giveUp)
    }
  }

  /** Number of times a model was opened or ended. */
  get changes(): number {
    return this.#changes
  }

  state(setup: ServingSetup): 'closed' | 'opening' | 'open' {
    const entry = this.#entries.get(keyOf(setup))
    if (entry === undefined) return 'closed'
    return entry.isOpen ? 'open' : 'opening'
  }

  /** Ends models that nobody uses, but for one. */
  endIdle(but: ServingSetup | null = null): void {
    const kept = but === null ? null : keyOf(but)
    for (const entry of [...this.#entries.values()])
      if (entry.holders === 0 && entry.key !== kept) this.#end(entry)
  }

  #begin(setup: ServingSetup): Entry {
    const { startJob = jobStarter(), environment, askText } = this.#options
    const process = startJob(servingJob, { environment: environment() })
    const entry: Entry = {
      key: keyOf(setup),
      kill: () => process.kill(),
      isOpen: false,
      holders: 0,
      idle: undefined,
      opening: ServedModel.open(process, setup, askText).then((model) => {
        entry.isOpen = true
        this.#changed()
        return model
      }),
    }
    // Callers that wait for it receive the error.
    entry.opening.catch(() => undefined)
    void process.ended.then(() => this.#forget(entry))
    this.#entries.set(entry.key, entry)
    this.#changed()
    return entry
  }

  #release(entry: Entry, lingerMs: number): void {
    if (--entry.holders > 0 || this.#entries.get(entry.key) !== entry) return
    if (lingerMs === 0) {
      this.#end(entry)
      return
    }
    entry.idle = setTimeout(() => this.#end(entry), lingerMs)
    entry.idle.unref()
  }

  /** The next one who asks for it gets another process. */
  #end(entry: Entry): void {
    entry.kill()
    this.#forget(entry)
  }

  #forget(entry: Entry): void {
    clearTimeout(entry.idle)
    if (this.#entries.get(entry.key) !== entry) return
    this.#entries.delete(entry.key)
    this.#changed()
  }

  #changed(): void {
    this.#changes++
    this.#options.onChanged()
  }

  /** Ends everything without notifying anybody: the observers are being closed too. */
  [Symbol.dispose](): void {
    const entries = [...this.#entries.values()]
    this.#entries.clear()
    for (const { idle, kill } of entries) {
      clearTimeout(idle)
      kill()
    }
  }
}

const keyOf = ({ directory, base, precision, device, contextLength, maxRows }: ServingSetup): string =>
  JSON.stringify([directory, base, precision, device.kind, device.threads, contextLength, maxRows])

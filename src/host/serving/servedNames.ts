/**
 * Resolves the names that a client may use for a model: the base, an imported adapter, a run (its latest checkpoint) or
 * one checkpoint of it.
 */
import path from 'node:path'
import { AppError, invalidModel } from '#shared/errors.ts'
import { adapterForModel, readAdapter } from '#host/adapters/peft.ts'
import { openModelFolder, type ModelFolder } from '#host/models/modelFolder.ts'
import type { Store } from '#host/store/store.ts'

export interface ServedName {
  readonly name: string
  /** Folder of its adapter; null: the base. */
  readonly adapter: string | null
  /** Milliseconds since 1970; 0 where unknown. */
  readonly createdAt: number
}

export interface NameSources {
  readonly store: Pick<Store, 'runs' | 'checkpoints'>
  readonly adapters: () => readonly { readonly name: string; readonly directory: string }[]
}

export class ServedNames {
  readonly #sources: NameSources
  readonly #folder: ModelFolder
  readonly base: string
  /** True for imported adapters that fit this base, by folder: they never change. */
  readonly #fitting = new Map<string, boolean>()

  /** Errors: AppError 'model/…' where the folder is no model. */
  constructor(sources: NameSources, directory: string) {
    this.#sources = sources
    this.#folder = openModelFolder(directory)
    this.base = path.basename(directory)
  }

  /** The base first, then imported adapters, then runs, the newest first, each before its checkpoints, the latest first. */
  list(): ServedName[] {
    const base = { name: this.base, adapter: null, createdAt: 0 }
    return [base, ...this.#imported(), ...this.#runs().flatMap(({ id }) => this.#checkpoints(id))]
  }

  /** Errors: AppError 'model/invalid'. */
  find(name: string): ServedName {
    const [runId = ''] = name.split('@')
    const isRun = this.#runs().some(({ id }) => id === runId)
    const candidates = isRun
      ? this.#checkpoints(runId)
      : [{ name: this.base, adapter: null, createdAt: 0 }, ...this.#imported()]
    const found = candidates.find((each) => each.name === name)
    if (found !== undefined) return found
    throw invalidModel(`There is no model “${name}” here; /v1/models lists those there are.`)
  }

  #imported(): ServedName[] {
    return this.#sources
      .adapters()
      .filter(({ name, directory }) => name !== this.base && this.#fits(directory))
      .map(({ name, directory }) => ({ name, adapter: directory, createdAt: 0 }))
  }

  #fits(directory: string): boolean {
    const known = this.#fitting.get(directory)
    if (known !== undefined) return known
    const fits = this.#isForBase(directory)
    this.#fitting.set(directory, fits)
    return fits
  }

  #isForBase(directory: string): boolean {
    try {
      adapterForModel(readAdapter(directory), this.#folder.config, directory)
      return true
    } catch (error) {
      if (error instanceof AppError) return false
      throw error
    }
  }

  #runs() {
    return this.#sources.store.runs.list().filter(({ model }) => model === this.#folder.directory)
  }

  #checkpoints(runId: string): ServedName[] {
    const saved = this.#sources.store.checkpoints.list(runId).toReversed()
    const named = saved.map(({ step, directory, savedAt }) => ({
      name: `${runId}@${step}`,
      adapter: directory,
      createdAt: savedAt,
    }))
    return named.flatMap((one, i) => (i === 0 ? [{ ...one, name: runId }, one] : [one]))
  }
}

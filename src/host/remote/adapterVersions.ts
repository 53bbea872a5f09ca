/**
 * Versions of the adapters on a rollout server. Whenever parameters have changed, the next rollout gets a version of its
 * own under a new name, so that the server cannot confuse it with a cached older one; requests that use an older version
 * end with it, and it is unloaded and deleted when there are enough newer ones.
 */
import { randomBytes } from 'node:crypto'
import { readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import type { LoraConfig } from '#engine/models/config.ts'
import type { NamedTensor } from '#engine/models/source.ts'
import type { AdapterRole } from '#engine/policy.ts'
import { writeAdapter } from '#host/adapters/peft.ts'
import type { RolloutServer } from './rolloutServer.ts'
import type { ServerSettings } from './settings.ts'

export interface AdapterVersionsOptions {
  readonly server: RolloutServer
  readonly settings: Pick<ServerSettings, 'adapterFolder' | 'serverAdapterFolder' | 'keepVersions'>
  readonly lora: LoraConfig
  /** Hub id, if known. */
  readonly baseModel: string | null
  /** Names of adapters begin with it; no other living process uses it. */
  readonly name: string
  readonly tensors: (role: AdapterRole) => readonly NamedTensor[]
}

interface Version {
  readonly role: AdapterRole
  readonly name: string
  readonly folder: string
  /** Rollouts that use it now. */
  users: number
  /** While it is being loaded again. */
  reloading: Promise<void> | null
}

/** A version in use; it is not unloaded before this is disposed. */
export interface Lease extends Disposable {
  readonly name: string
  /** After the server has forgotten it. */
  reload(): Promise<void>
}

export class AdapterVersions {
  readonly #options: AdapterVersionsOptions
  readonly #prefix: string
  readonly #current = new Map<AdapterRole, Version>()
  readonly #stale = new Set<AdapterRole>()
  #versions: readonly Version[] = []
  #count = 0
  /** One after the other: two rollouts that begin together share a version. */
  #queue: Promise<unknown> = Promise.resolve()

  constructor(options: AdapterVersionsOptions) {
    this.#options = options
    // A server may remember names of a process that is no more.
    this.#prefix = `${cleanName(options.name)}-${randomBytes(3).toString('hex')}`
  }

  /** Versions the server holds. */
  get loaded(): number {
    return this.#versions.length
  }

  /** The parameters are others than those of the newest version. */
  changed(...roles: readonly AdapterRole[]): void {
    for (const role of roles) this.#stale.add(role)
  }

  /** The newest version, loaded. Errors: AppError 'server/…', 'file/unwritable'. */
  async use(role: AdapterRole): Promise<Lease> {
    const version = await this.#inTurn(async () => {
      const current = this.#current.get(role)
      const newest = current === undefined || this.#stale.has(role) ? await this.#publish(role) : current
      newest.users++
      return newest
    })
    return {
      name: version.name,
      reload: () => this.#reload(version),
      [Symbol.dispose]: () => {
        version.users--
      },
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(work)
    this.#queue = result.catch(() => undefined)
    return result
  }

  async #publish(role: AdapterRole): Promise<Version> {
    const { server, settings, lora, baseModel, tensors } = this.#options
    const number = ++this.#count
    const name = `${this.#prefix}-${role === 'actor' ? '' : `${role}-`}v${number}`
    const folder = path.join(settings.adapterFolder, name)
    const version: Version = { role, name, folder, users: 0, reloading: null }
    this.#stale.delete(role)
    try {
      const metadata = { 'turnwise.version': String(number) }
      await writeAdapter(folder, { config: lora, baseModel, tensors: tensors(role), metadata })
      await server.load(name, this.#serverFolder(name))
    } catch (error) {
      this.#stale.add(role)
      deleteFolder(folder)
      throw error
    }
    this.#versions = [...this.#versions, version]
    this.#current.set(role, version)
    await this.#unloadOld()
    return version
  }

  /** How the server names a folder that this machine has written. */
  #serverFolder(name: string): string {
    const { adapterFolder, serverAdapterFolder } = this.#options.settings
    const folder = serverAdapterFolder ?? adapterFolder
    const separator = folder.includes('/') ? '/' : '\\'
    return `${folder.replace(/[\\/]+$/, '')}${separator}${name}`
  }

  async #reload(version: Version): Promise<void> {
    version.reloading ??= this.#options.server
      .load(version.name, this.#serverFolder(version.name))
      .finally(() => (version.reloading = null))
    await version.reloading
  }

  /** What cannot be unloaded now is tried again with the next version. */
  async #unloadOld(): Promise<void> {
    const { keepVersions } = this.#options.settings
    const byRole = Map.groupBy(this.#versions, ({ role }) => role)
    const old = [...byRole.values()].flatMap((own) => own.slice(0, -keepVersions))
    for (const version of old) if (version.users === 0) await this.#unload(version)
  }

  async #unload(version: Version): Promise<void> {
    if (!(await this.#options.server.unload(version.name))) return
    this.#versions = this.#versions.filter((other) => other !== version)
    deleteFolder(version.folder)
  }

  /** What an earlier process of the same name has left, on the server and in the folder. */
  async clearLeftovers(): Promise<void> {
    const { server, settings, name } = this.#options
    const own = new RegExp(`^${cleanName(name)}-[0-9a-f]{6}-(?:reference-|critic-)?v\\d+$`)
    for (const { id } of await server.models()) if (own.test(id)) await server.unload(id)
    for (const entry of foldersIn(settings.adapterFolder)) {
      if (own.test(entry)) deleteFolder(path.join(settings.adapterFolder, entry))
    }
  }

  /** Unloads and deletes every version. A server that is gone has nothing loaded. */
  async clear(): Promise<void> {
    await this.#inTurn(async () => {
      const versions = this.#versions
      await Promise.all(versions.map(({ name }) => this.#options.server.unload(name)))
      this.#versions = []
      this.#current.clear()
      for (const { folder } of versions) deleteFolder(folder)
    })
  }
}

const cleanName = (name: string): string => name.replaceAll(/[^A-Za-z0-9_-]/g, '-')

const deleteFolder = (folder: string): void => rmSync(folder, { recursive: true, force: true })

function foldersIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return [] // it is made with the first version; whoever cannot write it says so then
  }
}

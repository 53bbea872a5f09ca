/**
 * Versions of the adapters on rollout servers. Whenever parameters have changed, the next rollout gets a version of its
 * own under a new name, so that no server can confuse it with a cached older one; requests that use an older version
 * end with it, and it is unloaded and deleted when there are enough newer ones.
 */
import { randomBytes } from 'node:crypto'
import { readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import type { LoraConfig } from '#engine/models/config.ts'
import type { NamedTensor } from '#engine/models/source.ts'
import type { AdapterRole } from '#engine/policy.ts'
import { openSafetensors } from '#host/files/safetensors.ts'
import { attempt } from '#shared/attempt.ts'
import { AppError } from '#shared/errors.ts'
import { writeAdapter } from '#host/adapters/peft.ts'
import type { RolloutServer } from './rolloutServer.ts'
import type { ServerPool } from './serverPool.ts'
import type { ServerSettings } from './settings.ts'

export interface AdapterVersionsOptions {
  readonly servers: Pick<ServerPool, 'servers' | 'onEach'>
  readonly settings: Pick<ServerSettings, 'adapterFolder' | 'serverAdapterFolder' | 'keepVersions'>
  readonly lora: LoraConfig
  /** Hub id, if known. */
  readonly baseModel: string | null
  /** Names of adapters begin with it; no other living process uses it. */
  readonly name: string
  readonly tensors: (role: AdapterRole) => Promise<readonly NamedTensor[]>
}

interface Version {
  readonly role: AdapterRole
  readonly name: string
  readonly folder: string
  /** Rollouts that use it now. */
  users: number
  readonly reloading: Map<RolloutServer, Promise<void>>
}

/** A version in use; it is not unloaded before this is disposed. */
export interface Lease extends Disposable {
  readonly name: string
  /** Loads the version again on a server that has forgotten it, or that was not there when it was loaded. */
  reload(server: RolloutServer): Promise<void>
}

export class AdapterVersions {
  readonly #options: AdapterVersionsOptions
  readonly #prefix: string
  readonly #current = new Map<AdapterRole, Version>()
  readonly #stale = new Set<AdapterRole>()
  #versions: readonly Version[] = []
  #count = 0
  #handOverSeconds = 0
  /** One after the other: two rollouts that begin together share a version. */
  #queue: Promise<unknown> = Promise.resolve()

  constructor(options: AdapterVersionsOptions) {
    this.#options = options
    // A server may remember names of a process that is no more.
    this.#prefix = `${cleanName(options.name)}-${randomBytes(3).toString('hex')}`
  }

  /** Versions that the servers hold. */
  get loaded(): number {
    return this.#versions.length
  }

  /** Seconds since the last call in which versions were written and loaded; 0: none was. */
  takeHandOverSeconds(): number {
    const seconds = this.#handOverSeconds
    this.#handOverSeconds = 0
    return seconds
  }

  /** Notes that the parameters differ from those of the newest version. */
  changed(...roles: readonly AdapterRole[]): void {
    for (const role of roles) this.#stale.add(role)
  }

  /** The newest version, loaded on all servers. Errors: AppError 'server/…', 'file/unwritable'. */
  async use(role: AdapterRole): Promise<Lease> {
    const version = await this.#inTurn(async () => {
      const current = this.#current.get(role)
      const newest = current === undefined || this.#stale.has(role) ? await this.#publish(role) : current
      newest.users++
      return newest
    })
    return {
      name: version.name,
      reload: (server) => this.#reload(version, server),
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
    const { servers, settings, lora, baseModel, tensors } = this.#options
    const begun = performance.now()
    const number = ++this.#count
    const name = `${this.#prefix}-${role === 'actor' ? '' : `${role}-`}v${number}`
    const folder = path.join(settings.adapterFolder, name)
    const version: Version = { role, name, folder, users: 0, reloading: new Map() }
    this.#stale.delete(role)
    try {
      const metadata = { [versionKey]: String(number) }
      await writeAdapter(folder, { config: lora, baseModel, tensors: await tensors(role), metadata })
      await servers.onEach((server) => server.load(name, this.#serverFolder(name)))
    } catch (error) {
      this.#stale.add(role)
      deleteFolder(folder)
      throw error
    }
    this.#versions = [...this.#versions, version]
    this.#current.set(role, version)
    this.#handOverSeconds += (performance.now() - begun) / 1000
    await this.#unloadOld()
    return version
  }

  /** Returns the server's path of a folder that this machine has written. */
  #serverFolder(name: string): string {
    const { adapterFolder, serverAdapterFolder } = this.#options.settings
    const folder = serverAdapterFolder ?? adapterFolder
    const separator = folder.includes('/') ? '/' : '\\'
    return `${folder.replace(/[\\/]+$/, '')}${separator}${name}`
  }

  async #reload({ name, reloading }: Version, server: RolloutServer): Promise<void> {
    const loading = reloading.get(server) ?? server.load(name, this.#serverFolder(name))
    reloading.set(server, loading)
    await loading.finally(() => reloading.delete(server))
  }

  /** Unloads old versions; what cannot be unloaded now is tried again with the next version. */
  async #unloadOld(): Promise<void> {
    const { keepVersions } = this.#options.settings
    const byRole = Map.groupBy(this.#versions, ({ role }) => role)
    const old = [...byRole.values()].flatMap((own) => own.slice(0, -keepVersions))
    for (const version of old) if (version.users === 0) await this.#unload(version)
  }

  async #unload(version: Version): Promise<void> {
    if (!(await this.#unloadEverywhere(version.name))) return
    this.#versions = this.#versions.filter((other) => other !== version)
    deleteFolder(version.folder)
  }

  /** False where one of them could not do it now. */
  async #unloadEverywhere(name: string): Promise<boolean> {
    const done = await Promise.all(this.#options.servers.servers.map((server) => server.unload(name)))
    return done.every((isDone) => isDone)
  }

  /**
   * Removes what an earlier process of the same name has left on a server and in the folder, or this one while the
   * server was away.
   */
  async clearLeftovers(server: RolloutServer): Promise<void> {
    const { settings, name } = this.#options
    const pattern = new RegExp(`^${cleanName(name)}-[0-9a-f]{6}-(?:reference-|critic-)?v\\d+$`)
    const isLeft = (id: string) => pattern.test(id) && !this.#versions.some((version) => version.name === id)
    for (const { id } of await server.models()) if (isLeft(id)) await server.unload(id)
    for (const entry of foldersIn(settings.adapterFolder)) {
      if (isLeft(entry) && !entry.startsWith(this.#prefix))
        deleteVersion(path.join(settings.adapterFolder, entry))
    }
  }

  /** Unloads and deletes every version. A server that is gone has nothing loaded. */
  async clear(): Promise<void> {
    await this.#inTurn(async () => {
      const versions = this.#versions
      await Promise.all(versions.map(({ name }) => this.#unloadEverywhere(name)))
      this.#versions = []
      this.#current.clear()
      for (const { folder } of versions) deleteFolder(folder)
    })
  }
}

const cleanName = (name: string): string => name.replaceAll(/[^A-Za-z0-9_-]/g, '-')

/** Key of the metadata in which an adapter says which version it is. */
const versionKey = 'turnwise.version'

/** Deletes a folder that holds a version of an adapter; the folder of a run may have got any name elsewhere. */
function deleteVersion(folder: string): void {
  try {
    const { metadata } = openSafetensors(path.join(folder, 'adapter_model.safetensors'))
    if (metadata.has(versionKey)) deleteFolder(folder)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
  }
}

const deleteFolder = (folder: string): void => rmSync(folder, { recursive: true, force: true })

function foldersIn(folder: string): string[] {
  // The folder is made with the first version; whoever cannot write it says so then.
  return attempt(() => readdirSync(folder), [])
}

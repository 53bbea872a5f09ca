/** Describes this machine and this installation. */
import { attempt } from '#shared/attempt.ts'
import { defaultHub, storedMark } from '#shared/hub.ts'
import { readdirSync, statSync } from 'node:fs'
import { availableParallelism, cpus, homedir } from 'node:os'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Api } from '#shared/api/api.ts'
import type { Handlers, OutputOf } from '#shared/api/contract.ts'
import type { systemApi } from '#shared/api/system.ts'
import { AppError, refusal } from '#shared/errors.ts'
import { reading } from '#host/files/fileErrors.ts'
import { dataFolders, appVersion, runtimeVersions } from '#host/dataDirectory.ts'
import type { Host } from '#host/host.ts'
import { bytesOf } from '#host/workFolder/leftovers.ts'
import { requestsByPurpose } from '#host/outboundRequests.ts'
import { removeTelemetryFiles, telemetryFiles } from '#host/telemetryFiles.ts'
import { discardOldUploads, discardUpload, listUploads } from '#host/transports/uploads.ts'
import { deviceListJob } from '#host/jobs/deviceCheck.ts'
import { firstItem } from '#host/processes/job.ts'
import { devicesHandlers } from './librariesService.ts'
import { clearFolder, LoadMeter, storedFolders } from '#host/devices/machine.ts'
import { hasLeft } from './queueService.ts'
import { z } from 'zod'
import type { settingsApi } from '#shared/api/settings.ts'
import { fieldsOf } from '#shared/config/fields.ts'
import { algorithms } from '#rl/algorithms/registry.ts'
import { ownAlgorithms } from './lossesService.ts'
import { toolNames } from '#host/exchange/tools.ts'
import { setWebhook, tellWebhook, webhookAddress } from '#host/webhook.ts'
import { newsOf, stampOf } from '#host/store/feeds.ts'

/** An upload that somebody may still be looking at. */
const onItsWayMs = 60_000

const watchEveryMs = 2000

export const systemService = (host: Host): Handlers<typeof systemApi> => {
  const { dataDirectory, supervisor } = host
  const meter = new LoadMeter(host)
  return {
    info: (_input, { signal }) => describe(host, signal),
    load: () => meter.read(),
    requestsByPurpose: () => requestsByPurpose(dataDirectory),

    ...webhookHandlers(host),

    async *watch(_input, { signal }) {
      while (!signal.aborted) {
        yield { ...(await meter.read()), cursor: '' }
        await setTimeout(watchEveryMs, undefined, { signal }).catch(() => undefined)
      }
    },

    ...devicesHandlers(host),

    storage: () => storedFolders(host),

    telemetryFiles,
    removeTelemetryFiles: () => ({ removed: removeTelemetryFiles() }),

    async clearCache() {
      await Promise.all(supervisor.list().map(({ runId }) => hasLeft(host, runId)))
      if (supervisor.list().length > 0) {
        throw new AppError(
          'run/busy',
          'A training run is using the cache.',
          'Wait until it ends, or stop it.',
        )
      }
      return { freedBytes: clearFolder(dataFolders(dataDirectory).cache) }
    },

    async clearUploads() {
      const { uploads } = dataFolders(dataDirectory)
      const before = bytesOf(uploads)
      await discardOldUploads(uploads, onItsWayMs)
      return { freedBytes: before - bytesOf(uploads) }
    },

    browse: ({ path: given }) => browse(path.resolve(given ?? homedir())),
    uploads: () => listUploads(dataFolders(dataDirectory).uploads),
    discardUpload: ({ uploadId }) => discardUpload(dataFolders(dataDirectory).uploads, uploadId),
  }
}

const webhookHandlers = (
  host: Host,
): Pick<Handlers<typeof systemApi>, 'webhook' | 'setWebhook' | 'testWebhook'> => ({
  webhook() {
    const address = webhookAddress(host)
    return { origin: address === null ? null : new URL(address).origin }
  },
  setWebhook: ({ address }) => setWebhook(host, address),
  testWebhook: () =>
    tellWebhook(host, {
      kind: 'done',
      title: 'This is a test',
      body: 'Notices about your runs will arrive here.',
    }),
})

async function describe(host: Host, signal: AbortSignal): Promise<OutputOf<Api, 'system.info'>> {
  const { devices, physicalCores, defaultThreads } = await firstItem(host.ask(deviceListJob, null, signal))
  return {
    version: appVersion(),
    versions: runtimeVersions(),
    platform: `${process.platform}-${process.arch}`,
    cpu: {
      model: cpus()[0]?.model.trim() ?? '',
      physicalCores,
      threads: availableParallelism(),
      defaultThreads,
    },
    dataDirectory: host.dataDirectory,
    devices,
  }
}

/** Folders first, by name; what may not be looked at is left out. Errors: AppError 'file/unreadable'. */
function browse(folder: string): OutputOf<Api, 'system.browse'> {
  const entries = reading(folder, () => readdirSync(folder)).flatMap((name) => {
    const status = statSync(path.join(folder, name), { throwIfNoEntry: false })
    if (status === undefined || name.startsWith('.')) return []
    const isFolder = status.isDirectory()
    return [{ name, isFolder, sizeBytes: isFolder ? null : status.size }]
  })
  entries.sort((a, b) => Number(b.isFolder) - Number(a.isFolder) || a.name.localeCompare(b.name))
  const parent = path.dirname(folder)
  return { path: folder, parent: parent === folder ? null : parent, entries }
}

/** Reads the origin of a hub's address; '' for anything that is not an address. */
const originOf = (endpoint: unknown): string => {
  const address = typeof endpoint === 'string' && endpoint !== '' ? endpoint : defaultHub
  return URL.parse(address)?.origin ?? ''
}

// Settings of the program, and what the settings of runs mean.

/** The setting whose value is never sent to clients; see #shared/hub.ts. */
const hubToken = 'hub.token'

/** Stores the token, with the hub it is for; the placeholder shown in its place is not stored over it. */
function setToken({ settings }: Host['store'], value: unknown): void {
  if (value === storedMark) return
  settings.forget(hubToken)
  if (value === '' || value === null) return
  settings.set(hubToken, { token: value, origin: originOf(settings.get('hub.endpoint')) })
}

export const settingsService = (host: Host): Handlers<typeof settingsApi> => {
  const { store, notifier } = host
  const written = ownAlgorithms(host)
  const shown = (key: string, value: unknown) =>
    key === hubToken && value !== undefined ? storedMark : (value ?? null)
  const all = () =>
    Object.fromEntries(
      [...store.settings.all()]
        .filter(([key]) => !isPrivate(key))
        .map(([key, value]) => [key, shown(key, value)]),
    )
  return {
    all,
    get: ({ key }) => (isPrivate(key) ? null : shown(key, store.settings.get(key))),

    set({ key, value }) {
      if (isPrivate(key)) throw refusal(`The setting ${key} is managed by the host.`)
      // A token is for the hub that it was made for.
      if (key === 'hub.endpoint' && originOf(value) !== originOf(store.settings.get(key)))
        store.settings.forget(hubToken)
      if (key === hubToken) setToken(store, value)
      else store.settings.set(key, value ?? undefined)
      notifier.notify()
    },

    algorithms: async () => [
      ...algorithms.map(({ id, title, description, experience, groupSize, settings, ...algorithm }) => ({
        id,
        title,
        description,
        experience,
        groupSize,
        needsRewards: algorithm.configure({}).needs.rewards,
        settings: fieldsOf(settings, 'algorithm.settings'),
      })),
      ...(await written()),
    ],

    toolNames,

    async *watch(_input, { from, signal }) {
      let seen = readStamps(from)
      yield* newsOf({ notifier, signal }, () => {
        const values = all()
        const now = Object.fromEntries(Object.keys(values).map((key) => [key, stampOf(values[key])]))
        const keys = [...new Set([...Object.keys(now), ...Object.keys(seen)])]
        const other = keys.filter((key) => now[key] !== seen[key])
        if (other.length === 0) return null
        seen = now
        const changed = Object.fromEntries(other.map((key) => [key, values[key] ?? null]))
        return { cursor: JSON.stringify(now), changed }
      })
    },
  }
}

/** True for settings that a host keeps for the next host. */
const isPrivate = (key: string): boolean => key.startsWith('host.')

/** Decodes the reader's state of each setting; empty where the cursor is not one of ours. */
const readStamps = (cursor: string | null): Readonly<Record<string, string>> =>
  attempt(() => z.record(z.string(), z.string()).parse(JSON.parse(cursor ?? '{}')), {})

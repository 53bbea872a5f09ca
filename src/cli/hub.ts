/** Downloads from a hub on the command line, and exports sent to one: recognizing addresses, progress, and stopping with Ctrl-C. */
import { existsSync } from 'node:fs'
import { type AppError, type KeyUse, refusal } from '#shared/errors.ts'
import { defaultHub } from '#shared/hub.ts'
import { plural } from '#shared/plural.ts'
import { shownText } from '#shared/shownText.ts'
import { createHost } from '#host/createHost.ts'
import type { Host } from '#host/host.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { allowKeys, missingKeys } from '#host/consents/keys.ts'
import { outgoing, sending, type Outgoing } from '#host/export/outgoing.ts'
import { hubAccess, pushAccess, requireToken } from '#host/hub/hubFetching.ts'
import type { HubProgress } from '#host/hub/fetchFiles.ts'
import { isDataFile } from '#host/hub/splits.ts'
import { tokenVariable, type HubAccess } from '#host/hub/hub.ts'
import { pushFiles, requireRepo } from '#host/hub/push.ts'
import type { CommandContext } from './command.ts'
import { watchInterrupts } from './interrupt.ts'
import { createProgress, taskProgress, type Progress } from './progress.ts'

export const hubEndpoint = [
  '--endpoint <URL>',
  'hub (default: HF_ENDPOINT, or else the one in the settings)',
] as const

const addressForm = /^(?:https?:\/\/\S+|(?:datasets\/)?[\w-][\w.-]*\/[\w-][\w.-]*(?:@\S+)?)$/

/** True if an argument names a hub: it has the form of an address, and is no local file and not named like a data file. */
export const isHubAddress = (given: string): boolean =>
  !existsSync(given) && addressForm.test(given) && (given.includes(':') || !isDataFile(given))

export interface Fetching {
  readonly host: Host
  readonly access: HubAccess
  /** Shows progress to the end. */
  readonly follow: (progress: AsyncIterable<HubProgress>) => Promise<void>
}

/** Errors: those of the download; AppError 'api/cancelled' after Ctrl-C, which keeps the partial download. */
export async function fetchingFrom<T>(
  { dataDirectory, json, output }: CommandContext,
  endpoint: string | undefined,
  work: (fetching: Fetching) => Promise<T>,
): Promise<T> {
  await using host = createHost({ dataDirectory, servesQueue: false })
  const progress = createProgress(output, json)
  const stopping = () => progress.note('Stopping. The partial download is kept; the same command resumes it.')
  using interrupt = watchInterrupts(stopping, stopping)
  const { HF_ENDPOINT, HF_TOKEN } = process.env
  const access = hubAccess(host, interrupt.gently, {
    endpoint: endpoint ?? orAbsent(HF_ENDPOINT),
    token: orAbsent(HF_TOKEN),
  })
  return await work({ host, access, follow: (items) => follow(items, progress) })
}

/** Treats empty values as absent, since shells often export empty variables. */
export const orAbsent = (value: string | undefined): string | undefined => (value === '' ? undefined : value)

export async function follow(items: AsyncIterable<HubProgress>, progress: Progress): Promise<void> {
  try {
    for await (const { doneBytes, totalBytes } of items)
      progress.update({ done: toMegabytes(doneBytes), total: toMegabytes(totalBytes), unit: 'MB', facts: [] })
  } finally {
    progress.end()
  }
}

export const toMegabytes = (bytes: number): number => Math.ceil(bytes / 1e6)

export interface Pushing {
  /** OWNER/NAME. */
  readonly push: string
  readonly public: boolean
  readonly endpoint?: string | undefined
  readonly trustKeys: boolean
}

/**
 * Sends an export to a hub, and lists it first. `exported` makes it, or finds it, once it is known that the token may be sent. Errors: those of
 * `pushAccess`, `exported`, `outgoing` and `pushFiles`.
 */
export async function pushExport(
  pushing: Pushing,
  { dataDirectory, json, output }: CommandContext,
  exported: () => Promise<string>,
): Promise<void> {
  const { push: repo, public: isPublic } = pushing
  requireRepo(repo)
  await using host = createHost({ dataDirectory, servesQueue: false })
  const stop = new AbortController()
  const hub = pushing.endpoint ?? orAbsent(process.env['HF_ENDPOINT'])
  const trusted = pushing.trustKeys
    ? tokenUse(hubAccess(host, stop.signal, { endpoint: hub }), hub, host)
    : null
  if (trusted === null) pushAccess(host, stop.signal, hub)
  const sent = outgoing(await exported())
  // Only now: nothing is allowed for what cannot be sent.
  if (trusted !== null) {
    output.note(`${tokenVariable} may be sent to ${trusted.origin}.`)
    allowKeys([trusted], consentsFile(dataDirectory))
  }
  const access = pushAccess(host, stop.signal, hub)
  for (const line of sentLines(sent, `${access.endpoint}/${repo}, ${visibility(isPublic)}`)) output.note(line)
  const progress = createProgress(output, json)
  const stopping = () => {
    progress.note('Stopping.')
    stop.abort()
  }
  using _interrupt = watchInterrupts(stopping, stopping)
  try {
    for await (const news of pushFiles({ ...sending(sent), repo, isPublic }, access)) {
      if ('progress' in news) progress.update(taskProgress(news.progress))
      else {
        progress.end()
        output.json(news.result)
        output.line(
          `Sent ${plural(sent.files.length, 'file')} to ${news.result.url}, ${visibility(isPublic)}.`,
        )
      }
    }
  } finally {
    progress.end()
  }
}

const visibility = (isPublic: boolean): string => (isPublic ? 'public' : 'private')

/** Errors: those of `requireToken`; AppError 'api/refused' for an address that nobody here has named. */
function tokenUse(access: HubAccess, named: string | undefined, { dataDirectory }: Host): KeyUse {
  requireToken(access)
  const { endpoint } = access
  const use = { variable: tokenVariable, origin: new URL(endpoint).origin }
  const isNamed = named !== undefined || endpoint === defaultHub
  if (isNamed || missingKeys([use], consentsFile(dataDirectory)).length === 0) return use
  throw notNamed(endpoint)
}

/** The settings may have come with the data directory. */
const notNamed = (address: string): AppError =>
  refusal(
    `--trust-keys does not allow ${tokenVariable} for ${address}, which only the settings of the data directory name.`,
    'Nothing was sent. If this is the hub that you mean, name it with --endpoint.',
  )

const sentLines = ({ files, baseModel, license, notes }: Outgoing, where: string): string[] => [
  `To ${where}:`,
  ...files.map(({ path: file, sizeBytes }) => `${String(sizeBytes).padStart(14)} B  ${shownText(file)}`),
  `Base model: ${baseModel ?? 'not named'}. Licence: ${license ?? 'none stated'}.`,
  ...notes,
]

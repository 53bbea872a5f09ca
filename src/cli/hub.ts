/** Downloads from a hub on the command line, and exports sent to one: recognizing addresses, progress, and stopping with Ctrl-C. */
import { existsSync } from 'node:fs'
import { type AppError, refusal } from '#shared/errors.ts'
import { defaultHub } from '#shared/hub.ts'
import { plural } from '#shared/plural.ts'
import { createHost } from '#host/createHost.ts'
import type { Host } from '#host/host.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { allowKeys, missingKeys } from '#host/consents/keys.ts'
import { outgoing, sending, type Outgoing } from '#host/export/outgoing.ts'
import { hubAccess, pushAccess } from '#host/hub/hubFetching.ts'
import type { HubProgress } from '#host/hub/fetchFiles.ts'
import { isDataFile } from '#host/hub/splits.ts'
import { tokenVariable, type HubAccess } from '#host/hub/hub.ts'
import { pushFiles, requireRepo } from '#host/hub/push.ts'
import type { CommandContext } from './command.ts'
import { watchInterrupts } from './interrupt.ts'
import type { Output } from './output.ts'
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
  const access = accessFor(pushing, host, stop.signal, output)
  const sent = outgoing(await exported())
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

/** Errors: those of `pushAccess`; AppError 'api/refused' for an address that nobody here has named. */
function accessFor(
  { endpoint, trustKeys }: Pushing,
  host: Host,
  signal: AbortSignal,
  output: Output,
): HubAccess {
  const hub = endpoint ?? orAbsent(process.env['HF_ENDPOINT'])
  if (trustKeys) {
    const address = hubAccess(host, signal, { endpoint: hub }).endpoint
    const use = { variable: tokenVariable, origin: new URL(address).origin }
    const consents = consentsFile(host.dataDirectory)
    const isNamed = hub !== undefined || address === defaultHub
    if (!isNamed && missingKeys([use], consents).length > 0) throw notNamed(address)
    output.note(`${tokenVariable} may be sent to ${use.origin}.`)
    allowKeys([use], consents)
  }
  return pushAccess(host, signal, hub)
}

/** The settings may have come with the data directory. */
const notNamed = (address: string): AppError =>
  refusal(
    `--trust-keys does not allow ${tokenVariable} for ${address}, which only the settings of the data directory name.`,
    'Nothing was sent. If this is the hub that you mean, name it with --endpoint.',
  )

const sentLines = ({ files, baseModel, license, notes }: Outgoing, where: string): string[] => [
  `To ${where}:`,
  ...files.map(({ path: file, sizeBytes }) => `${String(sizeBytes).padStart(14)} B  ${file}`),
  `Base model: ${baseModel ?? 'not named'}. Licence: ${license ?? 'none stated'}.`,
  ...notes,
]

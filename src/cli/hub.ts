/** Downloads from a hub on the command line: recognizing addresses, progress, and stopping with Ctrl-C. */
import { existsSync } from 'node:fs'
import { createHost } from '#host/createHost.ts'
import type { Host } from '#host/host.ts'
import { hubAccess } from '#host/hub/hubFetching.ts'
import type { HubProgress } from '#host/hub/fetchFiles.ts'
import { isDataFile } from '#host/hub/splits.ts'
import type { HubAccess } from '#host/hub/hub.ts'
import type { CommandContext } from './command.ts'
import { watchInterrupts } from './interrupt.ts'
import { createProgress, type Progress } from './progress.ts'

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

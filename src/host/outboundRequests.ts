/**
 * Counts requests to other machines by all processes of this installation: each adds one byte to a file, which every
 * process can do at any time, and the size of the file is their number.
 */
import { readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { isOnThisMachine, webUrl } from '#shared/config/addresses.ts'
import { connectionPurposes, purposeNames, type ConnectionPurpose } from '#shared/connections.ts'
import { makeFolder } from '#host/files/atomic.ts'
import { appendToOwn } from '#host/files/ownFiles.ts'

const counterFile = (dataDirectory: string): string => path.join(dataDirectory, 'outbound-requests')

/** Counts a request; to be called before the request is made. */
export function countOutboundRequest(dataDirectory: string, purpose: ConnectionPurpose): void {
  makeFolder(dataDirectory)
  appendToOwn(counterFile(dataDirectory), connectionPurposes[purpose].mark)
}

/** Counts a request in processes that know only one folder of the data directory. */
export const countBeside = (folder: string, purpose: ConnectionPurpose): void =>
  countOutboundRequest(path.dirname(folder), purpose)

/** Number of requests since this data directory was made. */
export const outboundRequests = (dataDirectory: string): number =>
  statSync(counterFile(dataDirectory), { throwIfNoEntry: false })?.size ?? 0

/** Numbers of requests for each purpose; those that older versions made are in none. */
export function requestsByPurpose(dataDirectory: string): Record<ConnectionPurpose, number> {
  const marks =
    outboundRequests(dataDirectory) === 0 ? '' : readFileSync(counterFile(dataDirectory), 'latin1')
  const countOf = (purpose: ConnectionPurpose) => marks.split(connectionPurposes[purpose].mark).length - 1
  return Object.fromEntries(purposeNames.map((purpose) => [purpose, countOf(purpose)])) as Record<
    ConnectionPurpose,
    number
  >
}

/* Addresses that a person gives for what is fetched from. */

/** An address that may be asked, without a slash at its end: https, or http to this very machine. null: neither. */
export function webAddress(given: string): string | null {
  const url = webUrl(given)
  const isSafe = url !== null && (url.protocol === 'https:' || isOnThisMachine(url.href))
  return isSafe ? url.href.replace(/\/+$/, '') : null
}

/**
 * Sends a line to an address of the user's when a run has ended or goes wrong, as chats and phones take it. Its address is kept from
 * clients, since whoever knows it may post there; what is sent has names of runs and figures, no data and no words of errors.
 */
import { createHash } from 'node:crypto'
import { isOnThisMachine } from '#shared/config/addresses.ts'
import { AppError, usageError } from '#shared/errors.ts'
import { type Notice, RunNotices } from '#shared/notices.ts'
import { consentsFile } from './consents/consents.ts'
import { allowKeys, missingKeys, withdrawKeys } from './consents/keys.ts'
import type { OnFault } from './faults.ts'
import type { Host } from './host.ts'
import { countOutboundRequest, webAddress } from './outboundRequests.ts'
import { newsOf } from './store/feeds.ts'

/** Clients do not get settings of hosts. */
const setting = 'host.webhook'

/** Longest wait for the receiver, in ms. */
const patienceMs = 10_000

type Place = Pick<Host, 'store' | 'dataDirectory'>

/**
 * Names the address by a place that is no origin a config can name: leave for it is no leave to send a variable of that name. At one
 * origin many have a webhook, so its digest is part of the name, and tells nobody the address.
 */
function useOf(address: string) {
  const digest = createHash('sha256').update(address).digest('hex').slice(0, 16)
  return { variable: 'WEBHOOK', origin: `${new URL(address).origin} (webhook ${digest})` }
}

/** Returns its address if it was allowed on this machine: a copied data directory brings one along that nobody here allowed. */
export function webhookAddress({ store, dataDirectory }: Place): string | null {
  const kept = store.settings.get(setting)
  const address = typeof kept === 'string' ? webAddress(kept) : null
  const isAllowed =
    address !== null && missingKeys([useOf(address)], consentsFile(dataDirectory)).length === 0
  return isAllowed ? address : null
}

/** Allows and keeps an address; null forgets it. Errors: AppError 'usage/invalid', 'file/unwritable'. */
export function setWebhook({ store, dataDirectory }: Place, given: string | null): void {
  const address = given === null ? null : webAddress(given)
  if (given !== null && address === null) {
    throw usageError(
      'This is no address for a webhook.',
      'Nothing was changed. Give one that begins with https:// and holds no name and no password.',
    )
  }
  const consents = consentsFile(dataDirectory)
  const before = webhookAddress({ store, dataDirectory })
  if (before !== null) withdrawKeys([useOf(before)], consents)
  if (address !== null) allowKeys([useOf(address)], consents)
  if (address === null) store.settings.forget(setting)
  else store.settings.set(setting, address)
}

/** Posts a notice; does nothing without an address. Errors: AppError 'server/failed'. */
export async function tellWebhook(
  place: Place,
  { kind, title, body }: Pick<Notice, 'kind' | 'title' | 'body'>,
): Promise<void> {
  const { dataDirectory } = place
  const address = webhookAddress(place)
  if (address === null) return
  if (!isOnThisMachine(address)) countOutboundRequest(dataDirectory, 'webhook')
  const text = `Turnwise: ${kind === 'done' ? `${title}. ${body}` : title}`
  const response = await fetch(address, {
    method: 'POST',
    redirect: 'error',
    signal: AbortSignal.timeout(patienceMs),
    headers: { 'content-type': 'application/json' },
    // Slack and Mattermost read `text`, Discord `content`.
    body: JSON.stringify({ text, content: text, event: kind === 'done' ? 'finished' : 'problem', title }),
  }).catch((error: unknown) => error as Error)
  if (response instanceof Response && response.ok) return
  const { origin } = new URL(address)
  const reason = response instanceof Response ? `it answered ${response.status}` : 'it did not answer'
  throw new AppError(
    'server/failed',
    `The webhook at ${origin} was not told: ${reason}.`,
    'Runs go on as they are.',
  )
}

/** Tells of the runs that this host trains, until it is disposed of; what is on its way then is waited for. */
export function watchForWebhook(
  host: Place & Pick<Host, 'supervisor' | 'notifier'>,
  onFault: OnFault,
): AsyncDisposable {
  const [notices, ending] = [new RunNotices(), new AbortController()]
  const sent = new Set<Promise<void>>()
  const tell = () => {
    const atWork = host.supervisor.list().map(({ runId }) => runId)
    for (const notice of notices.look(atWork, (id) => host.store.runs.find(id))) {
      const told = tellWebhook(host, notice).catch((error: unknown) => onFault('webhook', error))
      sent.add(told)
      void told.then(() => sent.delete(told))
    }
    return null
  }
  const watching = (async () => {
    for await (const _ of newsOf({ notifier: host.notifier, signal: ending.signal }, tell));
  })().catch((error: unknown) => onFault('webhook', error))
  return {
    async [Symbol.asyncDispose]() {
      tell()
      ending.abort()
      await Promise.all([watching, ...sent])
    },
  }
}

/** A webhook is told of runs without their data, only where its address was allowed, and never keeps a run waiting. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { cpSync } from 'node:fs'
import { expect, test } from 'vitest'
import { alarmNotice, RunNotices } from '#shared/notices.ts'
import type { RunEntry } from '#shared/runs.ts'
import { missingKeys, withdrawKeys } from '#host/consents/keys.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { requestsByPurpose } from '#host/outboundRequests.ts'
import { openStore } from '#host/store/store.ts'
import { historyFile } from '#host/createHost.ts'
import { setWebhook, tellWebhook, webhookAddress } from '#host/webhook.ts'
import { temporaryFolder } from './files/temporaryFolder.ts'

async function receiver(status = 200) {
  const heard: { text: string; event: string }[] = []
  const server = createServer((request, response) => {
    request.setEncoding('utf8')
    let body = ''
    request.on('data', (piece: string) => (body += piece))
    request.on('end', () => {
      heard.push(JSON.parse(body) as (typeof heard)[number])
      response.writeHead(status).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    heard,
    address: `http://127.0.0.1:${String(port)}/hooks/secret-part`,
    [Symbol.dispose]: () => void server.close(),
  }
}

function openPlace(dataDirectory = temporaryFolder()) {
  const store = openStore(historyFile(dataDirectory))
  return { dataDirectory, store, [Symbol.dispose]: () => store[Symbol.dispose]() }
}

const failed = {
  kind: 'failed',
  title: 'Sums failed at step 3',
  body: 'cannot read /home/me/key.txt',
} as const

test('leave for its address is no leave to send a variable there', () => {
  using place = openPlace()
  setWebhook(place, 'https://hooks.example/services/secret')
  const use = { variable: 'WEBHOOK', origin: 'https://hooks.example' }
  expect(missingKeys([use], consentsFile(place.dataDirectory))).toEqual([use])
})

test('it is told in one line, without the words of errors', async () => {
  using server = await receiver()
  using place = openPlace()
  await tellWebhook(place, failed)
  expect(server.heard).toEqual([])
  setWebhook(place, server.address)
  await tellWebhook(place, failed)
  await tellWebhook(place, { kind: 'done', title: 'Sums is done', body: '30 steps; reward 0.9.' })
  expect(server.heard.map(({ text, event }) => [text, event])).toEqual([
    ['Turnwise: Sums failed at step 3', 'problem'],
    ['Turnwise: Sums is done. 30 steps; reward 0.9.', 'finished'],
  ])
  expect(requestsByPurpose(place.dataDirectory).webhook).toBe(0) // of this very machine
})

test('a problem is told of by its name and step, not in words that may quote data or errors', async () => {
  using server = await receiver()
  using place = openPlace()
  setWebhook(place, server.address)
  const words = 'The reward is nothing but whether the completion has the word “hunter2”.'
  const finding = { id: 'reward-is-one-word', severity: 'problem', words } as const
  const notice = alarmNotice({ id: 'run_1', name: 'Sums', step: 40, finding } as RunEntry, new Set())
  expect(notice?.body).toBe(words)
  await tellWebhook(place, notice!)
  expect(JSON.stringify(server.heard)).not.toContain('hunter2')
  expect(server.heard).toMatchObject([
    { text: 'Turnwise: Sums needs a look at step 40 (reward is one word)', event: 'problem' },
  ])
})

test('its address counts where it was allowed: not once withdrawn, and not in a copied data directory', async () => {
  using server = await receiver()
  using place = openPlace()
  setWebhook(place, server.address)
  const copy = temporaryFolder()
  cpSync(place.dataDirectory, copy, { recursive: true })
  using copied = openPlace(copy)
  expect(webhookAddress(copied)).toBeNull()
  withdrawKeys(null, consentsFile(place.dataDirectory))
  expect(webhookAddress(place)).toBeNull()
  await tellWebhook(place, failed)
  expect(server.heard).toEqual([])
})

test('leave for an address is none for another of the same receiver, as a history from elsewhere may name', async () => {
  using server = await receiver()
  using place = openPlace()
  setWebhook(place, server.address)
  place.store.settings.set('host.webhook', `${server.address}/of-somebody-else`)
  expect(webhookAddress(place)).toBeNull()
  await tellWebhook(place, failed)
  expect(server.heard).toEqual([])
})

test('an address with a password, of another machine without encryption, or of no machine is refused', () => {
  using place = openPlace()
  for (const address of [
    'https://me:word@example.com/x',
    'https://:word@example.com/x',
    'http://example.com/x',
    'file:///etc/passwd',
    'hello',
  ])
    expect(() => setWebhook(place, address), address).toThrow('no address for a webhook')
  expect(webhookAddress(place)).toBeNull()
})

test('what the receiver answers is told to who tries it', async () => {
  using server = await receiver(404)
  using place = openPlace()
  setWebhook(place, server.address)
  const error = await tellWebhook(place, failed).catch((thrown: unknown) => thrown as Error)
  expect(String(error)).toContain('it answered 404')
  expect(String(error)).not.toContain('secret-part')
})

test('each end and each grave finding is told of once', () => {
  const notices = new RunNotices()
  const run = { id: 'run_1', name: 'Sums', status: 'running', step: 3, finding: null } as RunEntry
  const finding = { id: 'entropy-collapse', severity: 'problem', words: 'The entropy is 0.' } as never
  const seen = (now: RunEntry, atWork = [now.id]) => notices.look(atWork, () => now).map(({ kind }) => kind)
  expect(seen(run)).toEqual([])
  expect(seen({ ...run, finding })).toEqual(['alarm'])
  expect(seen({ ...run, finding })).toEqual([])
  expect(seen({ ...run, status: 'failed', error: null }, [])).toEqual(['failed'])
  expect(seen({ ...run, status: 'failed', error: null }, [])).toEqual([])
})

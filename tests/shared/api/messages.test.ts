/** What comes over a port that is no message of ours, or is one too many, harms its own connection only. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createClient, HostFault, type Client } from '#shared/api/client.ts'
import { maxReplyLength, maxRequestLength } from '#shared/api/protocol.ts'
import { maxOpenRequests } from '#shared/api/serve.ts'
import { connectOver, transportNames, type Connected } from './connections.ts'
import type { ExampleContract, Seen } from './exampleContract.ts'
import { eventually } from '../../eventually.ts'

describe.each(transportNames)('messages over %s', (name) => {
  let connected: Connected
  let seen: Seen
  let client: Client<ExampleContract>

  beforeEach(async () => {
    connected = await connectOver(name)
    ;({ seen, client } = connected)
  })

  afterEach(() => connected[Symbol.asyncDispose]())

  const malformed = [
    'not JSON',
    '',
    '[]',
    'null',
    '"text"',
    '{}',
    '{"id":1}',
    '{"id":1,"kind":"dance"}',
    '{"id":-1,"kind":"call","name":"sums.reset"}',
    '{"id":"1","kind":"call","name":"sums.reset"}',
    '{"id":1e99,"kind":"call","name":"sums.reset"}',
    '{"id":1,"kind":"call","name":7}',
    `{"id":1,"kind":"call","name":"${'x'.repeat(500)}"}`,
    '{"id":1,"kind":"stream","name":"news.count","input":{"upTo":1},"credit":1000000}',
    '{"id":1,"kind":"stream","name":"news.count","input":{"upTo":1}}',
    '{"id":1,"kind":"more","credit":0.5}',
    '['.repeat(100_000),
  ]

  test.each(malformed.map((text) => [text.slice(0, 50), text]))(
    'close their connection and no other: %s',
    async (_shown, text) => {
      const other = await connected.connect()
      const gone = new Promise<void>((resolve) => other.onClose(resolve))
      other.post(text)
      await gone
      expect(await client.call('sums.add', { left: 1 })).toBe(11)
    },
  )

  test('a request number that is in use closes the connection', async () => {
    const other = await connected.connect()
    const gone = new Promise<void>((resolve) => other.onClose(resolve))
    other.post('{"id":1,"kind":"call","name":"sums.forever"}')
    other.post('{"id":1,"kind":"call","name":"sums.reset"}')
    await gone
    await eventually(() => expect(seen.aborted).toBe(1))
  })

  test('one that is too long is refused here, and closes its connection there', async () => {
    const long = 'x'.repeat(maxRequestLength)
    await expect(client.call('sums.add', { left: long as unknown as number })).rejects.toMatchObject({
      code: 'api/invalid',
    })
    expect(await client.call('sums.add', { left: 1 })).toBe(11)
    const other = await connected.connect()
    const gone = new Promise<void>((resolve) => other.onClose(resolve))
    other.post(`{"id":1,"kind":"call","name":"sums.reset","input":"${long}"}`)
    await gone
  })

  test('an answer that is too long is a fault of that call alone', async () => {
    await expect(client.call('sums.huge', maxReplyLength)).rejects.toBeInstanceOf(HostFault)
    expect(await client.call('sums.huge', 2_000_000)).toHaveLength(2_000_000)
  })

  test('keys that would reach a prototype change nothing', async () => {
    const answer = new Promise((resolve) => connected.port.listen(resolve))
    connected.port.post(
      '{"id":900,"kind":"call","name":"sums.add","input":{"left":1,"__proto__":{"polluted":1,"right":5}}}',
    )
    expect(await answer).toBe('{"id":900,"kind":"ok","value":11}')
    expect({}).not.toHaveProperty('polluted')
  })

  test('replies that are none end the connection for the client', async () => {
    const other = createClient<ExampleContract>(await connected.connect())
    const outcome = expect(other.call('sums.forever')).rejects.toMatchObject({ code: 'api/disconnected' })
    connected.hostEnds.at(-1)?.post('{"id":1,"kind":"maybe"}')
    await outcome
  })

  test('more requests than fit are refused one by one', async () => {
    const open = Array.from({ length: maxOpenRequests }, () => client.call('sums.forever').catch(() => null))
    await expect(client.call('sums.add', { left: 1 })).rejects.toMatchObject({ code: 'api/refused' })
    client.close()
    await Promise.all(open)
  })
})

/** One suite for every port: the API must not depend on what carries it. */
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { HostFault, type Client } from '#shared/api/client.ts'
import { reconnecting } from '#shared/api/reconnecting.ts'
import { AppError } from '#shared/errors.ts'
import { connectOver, transportNames, type Connected } from './connections.ts'
import type { ExampleContract, Seen } from './exampleContract.ts'
import { eventually } from '../../eventually.ts'

describe.each(transportNames)('the API over %s', (name) => {
  let connected: Connected
  let seen: Seen
  let client: Client<ExampleContract>

  beforeEach(async () => {
    connected = await connectOver(name)
    ;({ seen, client } = connected)
  })

  afterEach(() => connected[Symbol.asyncDispose]())

  describe('calls', () => {
    test('answer, with defaults filled in', async () => {
      expect(await client.call('sums.add', { left: 1, right: 2 })).toBe(3)
      expect(await client.call('sums.add', { left: 1 })).toBe(11)
      await expect(client.call('sums.reset')).resolves.toBeUndefined()
    })

    test('many at once each get their own answer', async () => {
      const asked = Array.from({ length: 200 }, (_, left) => client.call('sums.add', { left, right: 1 }))
      expect(await Promise.all(asked)).toEqual(Array.from({ length: 200 }, (_, left) => left + 1))
    })

    test('an AppError arrives with code, sentence and hint', async () => {
      await expect(client.call('sums.refuse')).rejects.toMatchObject({
        name: 'AppError',
        code: 'run/busy',
        message: 'The run is busy.',
        hint: 'Stop it first.',
      })
    })

    test('any other error is a fault that tells nothing of the inside', async () => {
      const error: unknown = await client.call('sums.fault').catch((reason: unknown) => reason)
      expect(error).toBeInstanceOf(HostFault)
      expect(JSON.stringify([error, String(error)])).not.toContain('secret')
      expect(connected.faults).toEqual([['sums.fault', expect.any(TypeError)]])
    })

    test('an answer that breaks the contract is a fault where answers are checked', async () => {
      await expect(client.call('sums.wrong')).rejects.toBeInstanceOf(HostFault)
    })

    test('a wrong input is refused by name before the service sees it', async () => {
      const asked = client.call('sums.add', { left: 'one' as unknown as number })
      await expect(asked).rejects.toMatchObject({
        code: 'api/invalid',
        message: expect.stringContaining('left') as string,
      })
      // JSON has no NaN, so no port has one.
      await expect(client.call('sums.add', { left: NaN })).rejects.toMatchObject({ code: 'api/invalid' })
      expect(seen.calls).toBe(0)
    })

    test('names that are not procedures are refused, also those every object has', async () => {
      for (const unknown of [
        'sums.subtract',
        'sums',
        'constructor.name',
        '__proto__.toString',
        'sums.constructor',
      ]) {
        await expect(client.call(unknown as 'sums.reset')).rejects.toMatchObject({ code: 'api/unknown' })
      }
      await expect(client.call('news.count' as 'sums.reset')).rejects.toMatchObject({ code: 'api/unknown' })
      await expect(client.stream('sums.reset' as 'news.count', { upTo: 1 }).next()).rejects.toMatchObject({
        code: 'api/unknown',
      })
    })

    test('cancelling ends the call here and the work there', async () => {
      const abort = new AbortController()
      const asked = client.call('sums.forever', undefined, { signal: abort.signal })
      await client.call('sums.reset')
      abort.abort()
      await expect(asked).rejects.toMatchObject({ code: 'api/cancelled' })
      await eventually(() => expect(seen.aborted).toBe(1))
      expect(connected.faults).toEqual([])
      await expect(
        client.call('sums.forever', undefined, { signal: AbortSignal.abort() }),
      ).rejects.toMatchObject({ code: 'api/cancelled' })
    })
  })

  describe('streams', () => {
    test('deliver every item in order and end', async () => {
      const numbers: number[] = []
      for await (const { number } of client.stream('news.count', { upTo: 100 })) numbers.push(number)
      expect(numbers).toEqual(Array.from({ length: 100 }, (_, index) => index + 1))
    })

    test('pass errors on behind the items that came before', async () => {
      const items: number[] = []
      const reading = async (name: 'news.failAfter' | 'news.faultAfter'): Promise<void> => {
        for await (const item of client.stream(name, { items: 3 })) items.push(item)
      }
      await expect(reading('news.failAfter')).rejects.toMatchObject({ code: 'data/invalid' })
      await expect(reading('news.faultAfter')).rejects.toBeInstanceOf(HostFault)
      expect(items).toEqual([1, 2, 3, 1, 2, 3])
    })

    test('the producer waits for a slow reader', async () => {
      const items = client.stream('news.count', { upTo: 10_000 })
      for (let taken = 0; taken < 3; taken++) await items.next()
      await delay(50)
      await client.call('sums.reset')
      const ahead = seen.produced
      expect(ahead).toBeLessThan(30)
      for (let taken = 0; taken < 100; taken++) await items.next()
      await client.call('sums.reset')
      expect(seen.produced - ahead).toBeGreaterThanOrEqual(75)
      expect(seen.produced).toBeLessThan(103 + 30)
      await items.return?.()
    })

    test('leaving the loop ends the work at the host', async () => {
      for await (const { number } of client.stream('news.count', { upTo: 10_000 })) if (number === 5) break
      await eventually(() => expect(seen.cleanedUp).toBe(1))
      expect(seen.produced).toBeLessThan(50)
    })

    test('a signal ends a stream that has nothing to say', async () => {
      const abort = new AbortController()
      const next = client.follow('news.follow', undefined, { signal: abort.signal }).next()
      await eventually(() => expect(seen.from).toEqual([null]))
      abort.abort()
      await expect(next).rejects.toMatchObject({ code: 'api/cancelled' })
      await eventually(() => expect(seen.cleanedUp).toBe(1))
    })

    test('a wrong input ends it before it begins', async () => {
      const next = client.stream('news.count', { upTo: 'all' as unknown as number }).next()
      await expect(next).rejects.toMatchObject({ code: 'api/invalid' })
    })

    test('a feed goes on behind the cursor it is given', async () => {
      seen.newest = 9
      const items = client.follow('news.follow', undefined, { from: '7' })
      expect((await items.next()).value).toEqual({ cursor: '8', number: 8 })
      await items.return?.()
    })
  })

  describe('a lost port', () => {
    test('ends calls and streams with api/disconnected, and their work at the host', async () => {
      const asked = client.call('sums.forever')
      const next = client.follow('news.follow').next()
      const both = Promise.allSettled([asked, next])
      await client.call('sums.reset')
      connected.hostEnds[0]?.close()
      for (const outcome of await both) {
        expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'api/disconnected' } })
      }
      await eventually(() => expect([seen.aborted, seen.cleanedUp]).toEqual([1, 1]))
      await expect(client.call('sums.reset')).rejects.toMatchObject({ code: 'api/disconnected' })
    })

    test('the client’s own close does the same', async () => {
      const asked = client.call('sums.forever')
      const outcome = expect(asked).rejects.toMatchObject({ code: 'api/disconnected' })
      await client.call('sums.reset')
      client.close()
      await outcome
      await eventually(() => expect(seen.aborted).toBe(1))
    })

    test('disposing what serves closes the connection', async () => {
      const outcome = expect(client.call('sums.forever')).rejects.toMatchObject({ code: 'api/disconnected' })
      await client.call('sums.reset')
      connected.servings[0]?.[Symbol.dispose]()
      await outcome
    })
  })

  describe('reconnecting', () => {
    test('a feed goes on behind its last item, nothing twice and nothing left out', async () => {
      const states: string[] = []
      const lasting = reconnecting<ExampleContract>(() => connected.connect(), {
        delaysMs: [1],
        onState: (state) => states.push(state),
      })
      const numbers: number[] = []
      seen.newest = 40
      for await (const { number } of lasting.follow('news.follow')) {
        numbers.push(number)
        if (number % 10 === 5) connected.hostEnds.at(-1)?.close()
        if (number === 40) break
      }
      lasting.close()
      expect(numbers).toEqual(Array.from({ length: 40 }, (_, index) => index + 1))
      expect(seen.from.length).toBeGreaterThanOrEqual(3)
      expect(states.slice(0, 5)).toEqual([
        'connecting',
        'connected',
        'disconnected',
        'connecting',
        'connected',
      ])
    })

    test('a call that was under way fails, the next one finds a new connection', async () => {
      const lasting = reconnecting<ExampleContract>(() => connected.connect(), { delaysMs: [1] })
      const asked = expect(lasting.call('sums.forever')).rejects.toMatchObject({ code: 'api/disconnected' })
      await lasting.call('sums.reset')
      connected.hostEnds.at(-1)?.close()
      await asked
      expect(await lasting.call('sums.add', { left: 1 })).toBe(11)
      lasting.close()
      await expect(lasting.call('sums.reset')).rejects.toMatchObject({ code: 'api/disconnected' })
    })

    test('a feed ends when the client is closed or its signal aborts, also while there is no host', async () => {
      let isDown = false
      const lasting = reconnecting<ExampleContract>(
        () => (isDown ? Promise.reject(new AppError('api/disconnected', 'Down.')) : connected.connect()),
        { delaysMs: [1, 60_000] },
      )
      const abort = new AbortController()
      const aborted = lasting.follow('news.follow', undefined, { signal: abort.signal }).next()
      const closed = lasting.follow('news.follow').next()
      const outcomes = Promise.allSettled([aborted, closed])
      await eventually(() => expect(seen.from).toHaveLength(2))
      isDown = true
      connected.hostEnds.at(-1)?.close()
      await eventually(() => expect(seen.cleanedUp).toBe(2))
      await delay(20)
      abort.abort()
      await expect(aborted).rejects.toMatchObject({ code: 'api/cancelled' })
      lasting.close()
      const [, second] = await outcomes
      expect(second).toMatchObject({ status: 'rejected', reason: { code: 'api/disconnected' } })
    })
  })
})

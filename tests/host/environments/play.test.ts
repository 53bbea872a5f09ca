import { afterAll, expect, test } from 'vitest'
import { createHostFixture } from '../api/hostFixture.ts'

const fixture = createHostFixture()
const { client } = fixture

afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

const counting = `
export const settings = { goal: 2, maxTurns: 5 }
export default {
  reset({ row, settings, random, log }) {
    console.log('begin')
    return { state: { left: row.left ?? settings.goal, chance: random() }, observation: 'Go on.' }
  },
  step({ state, action, random, log }) {
    if (action === 'boom')
      throw new Error('too loud')
    console.log('heard ' + action)
    log.column('length', action.length)
    log.metric('chance', random())
    const left = state.left - 1
    return { state: { ...state, left }, observation: left > 0 ? [{ role: 'user', content: 'More.' }] : undefined, reward: left > 0 ? null : 1, done: left <= 0 }
  },
}
`
const code = { language: 'js', code: counting } as const

test('an environment is played by hand, always from its first moment and always the same', async () => {
  const opening = await client.call('rewards.play', { code })
  expect(opening.maxTurns).toBe(5)
  expect(opening.turns).toMatchObject([
    { action: null, observation: 'Go on.', reward: null, terminated: false, lines: ['begin'], failure: null },
  ])
  const played = await client.call('rewards.play', { code, actions: ['one', 'two', 'three'] })
  expect(played.turns[0]).toEqual(opening.turns[0])
  expect(played.turns.slice(1)).toMatchObject([
    {
      action: 'one',
      observation: [{ role: 'user', content: 'More.' }],
      reward: null,
      terminated: false,
      state: { left: 1 },
      columns: { length: 3 },
      lines: ['heard one'],
    },
    // What comes after the end is not played.
    { action: 'two', observation: null, reward: 1, terminated: true },
  ])
  expect(await client.call('rewards.play', { code, actions: ['one', 'two', 'three'] })).toEqual(played)
  const other = await client.call('rewards.play', { code, actions: ['one'], seed: 7 })
  expect(other.turns[1]?.metrics).not.toEqual(played.turns[1]?.metrics)
  const one = await client.call('rewards.play', { code, actions: ['one'], settings: { goal: 1 } })
  expect(one.turns.at(-1)).toMatchObject({ terminated: true, reward: 1 })
  const long = await client.call('rewards.play', { code, actions: ['one', 'two'], row: { left: 3 } })
  expect(long.turns.at(-1)).toMatchObject({ terminated: false })
})

test('what goes wrong is told with its line and ends the episode; other code is refused', async () => {
  const { turns } = await client.call('rewards.play', { code, actions: ['boom', 'two'] })
  expect(turns).toHaveLength(2)
  expect(turns[1]?.failure).toMatchObject({
    kind: 'exception',
    line: 10,
    message: expect.stringContaining('too loud') as string,
  })
  const reward = { language: 'js', code: 'export default () => 1' } as const
  await expect(client.call('rewards.play', { code: reward })).rejects.toMatchObject({
    code: 'config/invalid',
  })
  await expect(client.call('rewards.play', { code, settings: { other: 1 } })).rejects.toMatchObject({
    code: 'config/invalid',
  })
})

test('built-in environments are played alike, and a saved version too', async () => {
  const { id: rewardId } = await client.call('rewards.create', { kind: 'environment', name: 'Counting' })
  const { hash: version } = await client.call('rewards.save', { rewardId, ...code })
  const saved = await client.call('rewards.play', { code: { rewardId, version }, actions: ['one'] })
  expect(saved).toEqual(await client.call('rewards.play', { code, actions: ['one'] }))

  const guess = (...actions: string[]) =>
    client.call('rewards.play', { code: { builtIn: 'number-guessing' }, row: { secret: 40 }, actions })
  const { maxTurns, turns } = await guess('50', 'it is 40')
  expect(maxTurns).toBe(8)
  expect(turns).toMatchObject([
    { observation: expect.stringContaining('from 1 to 100') as string },
    { observation: 'Lower.', reward: 0, terminated: false },
    { observation: null, reward: 1, terminated: true, metrics: { correct: 1 } },
  ])
  await expect(client.call('rewards.play', { code: { builtIn: 'no-such' } })).rejects.toMatchObject({
    code: 'config/invalid',
  })
  const gallery = await client.call('rewards.gallery')
  const environments = gallery.filter(({ kind, code: text }) => kind === 'environment' && text === null)
  expect(environments).toContainEqual(
    expect.objectContaining({ id: 'tic-tac-toe', settings: expect.any(Object) as object }),
  )
})

test('requests to other machines are counted', async () => {
  expect((await client.call('system.load')).outboundRequests).toBe(0)
  const { turns } = await client.call('rewards.play', {
    code: { builtIn: 'search' },
    settings: { url: 'http://search.invalid/' },
    row: { question: 'What is the sky?', answer: 'blue' },
    actions: ['<search>sky</search>'],
  })
  expect(turns[1]?.observation).toContain('[SearchTool Error:')
  expect((await client.call('system.load')).outboundRequests).toBe(1)
  expect(fixture.faults).toEqual([])
})

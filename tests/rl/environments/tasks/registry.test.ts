import { describe, expect, test } from 'vitest'
import { withFormatBonus } from '#rl/rollout/environment.ts'
import { builtInEnvironment, builtInEnvironments } from '#rl/environments/tasks/registry.ts'
import { play } from '../play.ts'

const findsNothing = { retrieve: () => Promise.resolve([]) }

describe('every built-in environment', () => {
  const names = builtInEnvironments.map(({ id }) => id)
  const create = (id: string) => builtInEnvironment(id, {}, id === 'search' ? findsNothing : {})
  const row = { question: 'Who?', answer: 'me' }

  test.each(names)('%s begins alike for the same row and seed, in whatever company', async (id) => {
    const environment = create(id)
    const starts = [3, 5, 3].map((seed) => ({ row, seed }))
    const [first, , again] = await environment.reset(starts)
    expect(again).toEqual(first)
    expect(await environment.reset(starts.slice(0, 1))).toEqual([first])
  })

  test.each(names)('%s keeps its state as plain JSON and takes any text as an action', async (id) => {
    const environment = create(id)
    const [opening] = await environment.reset([{ row, seed: 9 }])
    expect(opening).not.toHaveProperty('failure')
    if (opening === undefined || 'failure' in opening) return
    expect(JSON.parse(JSON.stringify(opening.state))).toEqual(opening.state)
    for (const action of ['', '<answer>', '1'.repeat(400), '\u0000 ☃', '<search></search>']) {
      const [answer] = await environment.step([{ row, seed: 2, state: opening.state, action }])
      expect(answer).not.toHaveProperty('failure')
    }
  })

  test('settings that are not there, of another type or impossible are refused in words', () => {
    expect(() => builtInEnvironment('chess')).toThrow('no environment called “chess”')
    expect(() => builtInEnvironment('arithmetic', { digit: 2 })).toThrow('has no setting “digit”')
    expect(() => builtInEnvironment('arithmetic', { digits: '2' })).toThrow('needs a number for “digits”')
    expect(() => builtInEnvironment('arithmetic', { operations: '+/' })).toThrow('some of + - *')
    expect(() => builtInEnvironment('number-guessing', { lowest: 9, highest: 3 })).toThrow('lowest < highest')
    expect(() => builtInEnvironment('tic-tac-toe', { opponent: 'kind' })).toThrow('random or careful')
  })

  test('what goes wrong with one episode is its own answer', async () => {
    const environment = builtInEnvironment('countdown')
    const answers = await environment.reset([
      { row: { numbers: 'none', target: 3 }, seed: 1 },
      { row: { numbers: [1, 2], target: 3 }, seed: 1 },
    ])
    expect(answers[0]).toEqual({ failure: { message: expect.stringContaining('numbers') as string } })
    expect(answers[1]).toMatchObject({ terminated: false })
  })
})

describe('tasks of one turn', () => {
  test('arithmetic judges the last number', async () => {
    const environment = builtInEnvironment('arithmetic')
    const row = { a: 17, b: 25, operation: '-' }
    const played = await play(environment, { row, actions: ['17 minus 25 is -8'] })
    expect(played).toMatchObject({ rewards: [1], terminated: true })
    expect(played.observations[0]).toContain('17 - 25')
    expect((await play(environment, { row, actions: ['8'] })).rewards).toEqual([0])
    expect((await play(environment, { row, actions: ['no idea'] })).rewards).toEqual([0])
  })

  test('arithmetic makes up problems of its own', async () => {
    const environment = builtInEnvironment('arithmetic', { operations: '*', digits: 1 })
    const solve = (observation: string) => {
      const [a, b] = (observation.match(/\d+/g) ?? []).map(Number)
      return String(a! * b!)
    }
    for (const seed of [1, 2, 3]) {
      expect((await play(environment, { seed, actions: [solve] })).rewards).toEqual([1])
    }
  })

  test('letter counting', async () => {
    const environment = builtInEnvironment('letter-counting')
    const row = { word: 'Mississippi', letter: 's' }
    expect((await play(environment, { row, actions: ['There are 4.'] })).rewards).toEqual([1])
    expect((await play(environment, { row, actions: ['3'] })).rewards).toEqual([0])
    const counted = (observation: string) => {
      const [, letter, word] = /"(.)" occur in "(.*)"/.exec(observation)!
      return String(word!.split(letter!).length - 1)
    }
    for (const seed of [1, 2, 3]) {
      expect((await play(environment, { seed, actions: [counted] })).rewards).toEqual([1])
    }
  })

  test.each([
    ['<answer>(6 - 2) * 25</answer>', 1],
    ['<answer>2*25</answer> no: <answer>25 * (6-2) = 100</answer>', 1],
    ['<answer>6 + 2 + 25</answer>', 0.1],
    ['<answer>25 * 4</answer>', 0],
    ['<answer>25 * 6 - 2 * 25</answer>', 0],
    ['<answer>((6 - 2) * 25</answer>', 0],
    ['<answer>alert(6 - 2) * 25</answer>', 0],
    ['(6 - 2) * 25', 0],
  ])('countdown: %s is worth %d', async (action, reward) => {
    const environment = builtInEnvironment('countdown')
    const row = { numbers: [25, 6, 2], target: 100 }
    expect((await play(environment, { row, actions: [action] })).rewards).toEqual([reward])
  })

  test('countdown draws puzzles with as many numbers as asked for', async () => {
    const environment = builtInEnvironment('countdown', { count: 3, highest: 9 })
    for (let seed = 0; seed < 20; seed++) {
      const { last } = await play(environment, { seed, actions: [] })
      const { numbers, target } = last.state as { numbers: number[]; target: number }
      expect(numbers).toHaveLength(3)
      expect(Math.max(...numbers)).toBeLessThanOrEqual(9)
      expect(Number.isInteger(target) && target > 0 && target <= 180).toBe(true)
    }
  })

  const forms: readonly (readonly [string, number, string, string])[] = [
    ['lines', 2, 'one\ntwo', 'one'],
    ['words', 3, 'Bees make honey.', 'Bees make sweet honey.'],
    ['bullets', 2, '- a\n- b', '- a\nb'],
    ['commas', 2, 'salt, water', 'salt, and water'],
    ['uppercase', 1, 'RAIN!', 'Rain'],
    ['lowercase', 1, 'rain', 'Rain'],
    ['quoted', 1, '"Salt."', 'Salt.'],
    ['json', 1, '{"topic": "rain", "fact": "wet"}', '{"topic": "rain"}'],
  ]
  test.each(forms)('format following: %s', async (kind, count, right, wrong) => {
    const environment = builtInEnvironment('format-following')
    const answers = await environment.step(
      [right, wrong].map((action) => ({ row: {}, seed: 1, state: { kind, count }, action })),
    )
    expect(answers).toMatchObject([{ reward: 1, terminated: true }, { reward: 0 }])
  })
})

describe('number guessing', () => {
  const environment = builtInEnvironment('number-guessing', { highest: 16, guesses: 4 })
  const row = { secret: 11 }

  test('halving finds the number', async () => {
    const played = await play(environment, { row, actions: ['8', 'I say 12', '10', '11'] })
    expect(played.observations.slice(1)).toEqual(['Higher.', 'Lower.', 'Higher.'])
    expect(played).toMatchObject({ rewards: [0, 0, 0, 1], terminated: true })
  })

  test('an invalid guess costs, and guesses run out', async () => {
    const played = await play(environment, { row, actions: ['hm', '99', '1', '2'] })
    expect(played).toMatchObject({ rewards: [-0.1, -0.1, 0, 0], terminated: true })
    expect(environment.maxTurns).toBe(4)
  })
})

describe('tic-tac-toe', () => {
  test('a careful opponent takes what it can win and blocks what it must', async () => {
    const environment = builtInEnvironment('tic-tac-toe')
    const step = (state: string, action: string) => environment.step([{ row: {}, seed: 3, state, action }])
    expect(await step('OO.XX....', '9')).toMatchObject([{ reward: 0, terminated: true }])
    expect(await step('.........', '7')).toMatchObject([{ reward: 0, terminated: false }])
    expect(await step('X...O....', '2')).toMatchObject([{ state: 'XXO.O....', terminated: false }])
  })

  test('win, draw and a move that cannot be made', async () => {
    const environment = builtInEnvironment('tic-tac-toe')
    const step = (state: string, action: string) => environment.step([{ row: {}, seed: 3, state, action }])
    expect(await step('XX.OO....', 'cell 3')).toMatchObject([{ reward: 1, terminated: true }])
    expect(await step('XOXXOOOX.', '9')).toMatchObject([{ reward: 0.5, terminated: true }])
    expect(await step('XX.OO....', '1')).toMatchObject([{ reward: -0.5, terminated: true }])
    expect(await step('XX.OO....', '10')).toMatchObject([{ reward: -0.5, terminated: true }])
  })

  test('nobody beats the careful opponent by taking the first free cell against its blocks', async () => {
    const environment = builtInEnvironment('tic-tac-toe', { opponent: 'random', begins: 'opponent' })
    const firstFree = (observation: string) => /\d/.exec(observation.replace(/^[^]*\n\n/, ''))![0]
    const results = await Promise.all(
      Array.from({ length: 30 }, async (_, seed) => {
        let played = await play(environment, { seed, actions: [firstFree] })
        for (let turns = 2; !played.terminated; turns++) {
          played = await play(environment, {
            seed,
            actions: new Array(turns).fill(firstFree) as (typeof firstFree)[],
          })
        }
        return played.rewards.at(-1)
      }),
    )
    expect(new Set(results)).toEqual(new Set([0, 0.5, 1]))
  })
})

describe('search', () => {
  const asked: unknown[] = []
  const engine = {
    retrieve: (query: string, count: number) => {
      asked.push([query, count])
      if (query === 'down') return Promise.reject(new Error('fetch failed', { cause: new Error('refused') }))
      return Promise.resolve(['Paris is the capital of France.', 'Second', 'Third', 'Fourth'])
    },
  }
  const environment = builtInEnvironment('search', {}, engine)
  const row = { question: 'What is the capital of France?', answer: ['Paris', 'City of Paris'] }

  test('a search is answered with the first results, an answer ends the episode', async () => {
    const actions = [
      '<search> capital & France </search> <answer>Lyon</answer>',
      '<answer>The city of Paris.</answer>',
    ]
    const played = await play(environment, { row, actions })
    expect(asked).toEqual([['capital & France', 3]])
    expect(played.observations[0]).toContain(row.question)
    expect(played.observations[1]).toBe(
      '\n\n<information>  Paris is the capital of France.\n  Second\n  Third\n</information>\n\n',
    )
    expect(played).toMatchObject({ rewards: [null, 1], terminated: true })
  })

  test('neither search nor answer leads nowhere; a wrong answer ends with nothing', async () => {
    const played = await play(environment, { row, actions: ['Paris', '<answer>Lyon</answer>'] })
    expect(played).toMatchObject({
      observations: [expect.anything(), ''],
      rewards: [null, 0],
      terminated: true,
    })
  })

  test('a search engine that fails is an observation', async () => {
    const { last } = await play(environment, { row, actions: ['<search>down</search>'] })
    expect(last.observation).toContain('[SearchTool Error: fetch failed: refused]')
    expect(last.metrics).toMatchObject({ 'search errors': 1 })
    expect(last.columns).toMatchObject({ search: 'down', 'search error': 'fetch failed: refused' })
  })

  test('it needs something to search in', () => {
    expect(() => builtInEnvironment('search', {})).toThrow(
      'nothing that the search environment could search in',
    )
  })
})

test('the bonus for the form goes to answers that are wrong, at the end of an episode only', async () => {
  const environment = withFormatBonus(builtInEnvironment('search', {}, findsNothing), 0.1)
  const row = { question: 'q', answer: 'yes' }
  const rewards = async (action: string) => (await play(environment, { row, actions: [action] })).rewards
  expect(await rewards('<answer>no</answer>')).toEqual([0.1])
  expect(await rewards('<answer>yes</answer>')).toEqual([1])
  expect(await rewards('<answer>')).toEqual([null])
})

test('the bonus for the form goes to no answer whose episode was truncated', async () => {
  const turn = { state: 0, observation: 'q', reward: null, terminated: false }
  const over = (end: { terminated: boolean; truncated: boolean }) =>
    withFormatBonus(
      {
        id: 'over',
        description: '',
        maxTurns: 1,
        reset: (starts) => Promise.resolve(starts.map(() => turn)),
        step: (actions) => Promise.resolve(actions.map(() => ({ ...turn, ...end }))),
      },
      0.1,
    )
  const rewards = async (end: { terminated: boolean; truncated: boolean }) =>
    (await play(over(end), { actions: ['<answer>no</answer>'] })).rewards
  expect(await rewards({ terminated: false, truncated: true })).toEqual([null])
  expect(await rewards({ terminated: true, truncated: true })).toEqual([0.1])
})

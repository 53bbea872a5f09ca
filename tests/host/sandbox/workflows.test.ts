import { describe, expect, test } from 'vitest'
import type { EpisodeAnswer } from '#host/sandbox/workflowAnswers.ts'
import type { Sandbox, SandboxLimits } from '#host/sandbox/sandbox.ts'
import { only, openJs } from './opened.ts'

const start = {
  row: { answer: '4' },
  prompt: { text: 'ab', ids: [1, 2] },
  environment: null,
  isEvaluation: false,
  seed: 3,
}

/** What the host would answer to requests for completions: their number as the only id. */
const answersTo = (asked: readonly string[]) =>
  asked.map((_, i) => ({
    isList: false,
    completions: [{ text: String(i), ids: [i + 10], logprobs: [-1], version: 0, finishReason: 'stop' }],
  }))

const workflow = (body: string, limits?: Partial<SandboxLimits>) =>
  openJs(
    `export default defineWorkflow({ async episode(s) { const { engine, tools, prompt } = s; ${body} } })`,
    limits,
  )

/** Runs an episode round by round until it has ended; what each round asked. */
async function play(sandbox: Sandbox, most = 20): Promise<{ end: EpisodeAnswer; rounds: string[][] }> {
  const [asked, rounds]: [string[], string[][]] = [[], []]
  for (let round = 0; round < most; round++) {
    const end = only(await sandbox.episode([{ ...start, asked, answers: answersTo(asked) }]))
    if (!('requests' in end)) return { end, rounds }
    rounds.push(end.requests.map(({ text }) => text))
    asked.push(...end.requests.map(({ text }) => text))
  }
  throw new Error('Expected an end.')
}

const played = async (body: string) => {
  await using sandbox = await workflow(body)
  return await play(sandbox)
}

const failureOf = (end: EpisodeAnswer) =>
  'failure' in end ? end.failure.message : JSON.stringify(end).slice(0, 200)

describe('an episode', () => {
  test('is run again with the answers until it ends', async () => {
    const { end, rounds } = await played(`
      const first = await engine.generate({ ids: prompt.ids })
      s.log.metric('turns', 2)
      const second = await engine.generate({ ids: first.allIds, greedy: true })
      return { ids: second.allIds, actions: [...first.actionMask, 1], reward: s.random() < 1 ? 2 : 3 }`)
    expect(rounds).toEqual([
      ['{"ids":[1,2],"kind":"generate"}'],
      ['{"ids":[1,2,10],"greedy":true,"kind":"generate"}'],
    ])
    expect(end).toMatchObject({
      trajectories: [{ ids: [1, 2, 10, 11], actions: [0, 0, 1, 1], reward: 2 }],
      metrics: { turns: 2 },
    })
  })

  test('asks for what is open together, and numbers it as it was asked, however it is awaited', async () => {
    const { end, rounds } = await played(`
      const branch = async (name, pause) => {
        let ids = [name]
        for (let i = 0; i < 2; i++) {
          for (let k = 0; k < pause; k++) await null
          ids = (await engine.generate({ ids })).allIds
        }
        return ids
      }
      const all = await Promise.all([branch(1, 9), branch(2, 0), branch(3, 4)])
      return { ids: all.flat(), actions: [[1, 2]], columns: { all } }`)
    expect(rounds.map((round) => round.map((text) => (JSON.parse(text) as { ids: number[] }).ids))).toEqual([
      [[2], [3], [1]],
      [
        [2, 10],
        [3, 11],
        [1, 12],
      ],
    ])
    expect(end).toMatchObject({
      trajectories: [
        {
          columns: {
            all: [
              [1, 12, 15],
              [2, 10, 13],
              [3, 11, 14],
            ],
          },
        },
      ],
    })
  })

  test('gets text and ids without waiting, and what it did for want of them counts for nothing', async () => {
    await using sandbox = await workflow(`
      let before = 'unknown'
      try { before = tools.decode([5]) } catch {}
      const both = [engine.generate({ ids: [1] }), (async () => tools.encode(before))()]
      const [{ ids }, more] = await Promise.all(both)
      more.push(0)
      const text = tools.decode(ids)
      return { ids: [1, 10], actions: [[1, 2]], columns: { before, text, more: [...more, ...tools.encode(before)] } }`)
    const textAnswers: Record<string, unknown> = {}
    const asked: string[] = []
    const steps: string[] = []
    for (;;) {
      const end = only(await sandbox.episode([{ ...start, asked, answers: answersTo(asked), textAnswers }]))
      if ('asksText' in end) {
        const { text, ask } = end.asksText
        textAnswers[text] = ask.kind === 'encode' ? [7] : `text ${ask.ids.join(' ')}`
        steps.push(text)
      } else if ('requests' in end) {
        asked.push(...end.requests.map(({ text }) => text))
        steps.push(...end.requests.map(({ text }) => text))
      } else {
        expect(end).toMatchObject({
          trajectories: [{ columns: { before: 'text 5', text: 'text 10', more: [7, 0, 7] } }],
        })
        break
      }
    }
    expect(steps).toEqual([
      '{"kind":"decode","ids":[5]}',
      '{"kind":"encode","text":"text 5"}',
      '{"ids":[1],"kind":"generate"}',
      '{"kind":"decode","ids":[10]}',
    ])
  })

  test('says what is no text for the tokenizer', async () => {
    expect(failureOf((await played('return tools.decode("abc")')).end)).toMatch(/tools\.decode/)
  })

  test('has the same chance in every run, and another with another seed', async () => {
    await using sandbox = await workflow(
      'const x = [s.random(), Math.random()]; await engine.generate({ ids: [1] }); s.log.column("x", x); return null',
    )
    const { end } = await play(sandbox)
    const again = await play(sandbox)
    expect(end).toEqual({ ...again.end, durationMs: (end as { durationMs?: number }).durationMs })
    const asked = ['{"ids":[1],"kind":"generate"}']
    const other = only(await sandbox.episode([{ ...start, seed: 4, asked, answers: answersTo(asked) }]))
    expect((other as { columns?: unknown }).columns).not.toEqual((end as { columns?: unknown }).columns)
  })

  test('cannot change a prompt after it was asked for', async () => {
    const { end } = await played(`
      const ids = [1, 2]
      const asked = engine.generate({ ids })
      ids.push(7)
      const answer = await asked
      return { ids: answer.allIds, actions: answer.actionMask }`)
    expect(end).toMatchObject({ trajectories: [{ ids: [1, 2, 10], actions: [0, 0, 1] }] })
  })

  test('sees its settings, and what a module sets by default', async () => {
    await using sandbox = await openJs(
      `export default defineWorkflow({ settings: { attempts: 4, word: 'x' },
         async episode({ settings }) { return { ids: [1, 2], actions: [[1, 2]], columns: settings } } })`,
    )
    expect(sandbox.settings).toEqual({ attempts: 4, word: 'x' })
    const end = only(await sandbox.episode([{ ...start, asked: [], answers: [], settings: { attempts: 2 } }]))
    expect(end).toMatchObject({ trajectories: [{ columns: { attempts: 2, word: 'x' } }] })
  })
})

const generate = 'engine.generate({ ids: [1] })'
const hostile: readonly (readonly [name: string, body: string, sentence: RegExp])[] = [
  ['an endless loop', 'for (;;) {}', /^Stopped after 500 ms/],
  ['an endless loop after an answer', `await ${generate}; for (;;) {}`, /^Stopped after 500 ms/],
  [
    'a flood of promises',
    'const f = () => Promise.resolve().then(f); await Promise.all([f(), f(), f()])',
    /memory|Stopped|waits for something/,
  ],
  [
    'a flood of promises beside a request',
    `const f = () => Promise.resolve().then(f); await Promise.all([f(), ${generate}])`,
    /memory|Stopped|waits for something/,
  ],
  [
    'a tree of promises',
    'const f = async () => { await Promise.all([f(), f()]) }; await f()',
    /memory|Stopped|waits for something/,
  ],
  ['memory', 'const a = []; for (;;) a.push({ b: [1, 2, 3] })', /memory/i],
  [
    'memory between answers',
    `const a = []; for (;;) { await ${generate}; a.push(new Float64Array(1e6)) }`,
    /memory|allocat|length/i,
  ],
  ['a flood of requests', `const a = []; for (;;) a.push(${generate})`, /512 requests/],
  [
    'a flood of requests that is caught',
    `for (;;) try { for (;;) ${generate}.then(() => 0) } catch { await new Promise(() => 0) }`,
    /512 requests/,
  ],
  ['a wait for nothing', 'await new Promise(() => 0)', /waits for something that is not a request/],
  [
    'a wait for nothing after an answer',
    `await ${generate}; await new Promise(() => 0)`,
    /waits for something that is not a request/,
  ],
  [
    'a request that nobody awaits',
    `${generate}; return null`,
    /returned before a request was answered: await every request/,
  ],
  [
    'requests after the end',
    `await ${generate}; Promise.resolve().then(() => { ${generate}; ${generate} }); return null`,
    /returned before 2 requests were answered/,
  ],
  [
    'requests in the background',
    `const f = async () => { for (;;) await ${generate} }; f(); await ${generate}; return null`,
    /returned before a request was answered/,
  ],
  ['an exception', `await ${generate}; throw new Error('no luck')`, /^Error: no luck$/],
  ['an exception beside open requests', `${generate}; throw new Error('no luck')`, /^Error: no luck$/],
  [
    'a request without a prompt',
    'await engine.generate({})',
    /^engine.generate takes either `ids` or `messages`/,
  ],
  ['a request for nothing', 'await engine.generate()', /engine.generate expects an object, got nothing/],
  [
    'a request with another field',
    'await engine.generate({ ids: [1], max_tokens: 5 })',
    /engine.generate.*max_tokens/,
  ],
  ['too many samples', 'await engine.generate({ ids: [1], samples: 1e6 })', /engine.generate: “samples”/],
  ['ids that are none', 'await engine.generate({ ids: [1, 2.5, -3] })', /engine.generate: “ids.1”/],
  [
    'a temperature below 0',
    'await engine.generate({ ids: [1], temperature: -1 })',
    /engine.generate: “temperature”/,
  ],
  [
    'a request that is no JSON',
    'await engine.generate({ ids: [1], toJSON: () => () => 1 })',
    /engine.generate/,
  ],
  [
    'a request that lies about its kind',
    `await engine.generate({ ids: [1], toJSON: () => ({ kind: 'admin' }) })`,
    /kind/,
  ],
  [
    'a cyclic request',
    'const a = {}; a.a = a; await tools.environment_ ?? engine.generate({ ids: [1], a })',
    /circular/i,
  ],
  ['nothing', 'return undefined', /expects an object, got nothing/],
  ['a number', 'return 1', /expects an object, got a number/],
  ['a trajectory without tokens', 'return { reward: 1 }', /^The trajectory: “ids”/],
  ['a trajectory without actions', 'return { ids: [1, 2] }', /^The trajectory: “actions”/],
  [
    'a field that does not exist',
    'return { ids: [1, 2], actions: [0, 1], rewards: [1] }',
    /^The trajectory.*rewards/,
  ],
  [
    'a reward that is none',
    'return { ids: [1, 2], actions: [0, 1], reward: 0 / 0 }',
    /holds NaN \(as "reward"\)/,
  ],
  ['an infinite turn', 'return { ids: [1, 2], actions: [0, 1], turnRewards: [1 / 0] }', /holds Infinity/],
  [
    'a reward in words',
    `return { ids: [1, 2], actions: [0, 1], reward: 'much' }`,
    /^The trajectory: “reward” must be a number/,
  ],
  [
    'too many trajectories',
    'return Array.from({ length: 300 }, () => ({ ids: [1, 2], actions: [0, 1] }))',
    /The answer cannot be read/,
  ],
  [
    'a huge answer',
    'return { ids: Array.from({ length: 6e5 }, () => 1), actions: [[1, 2]] }',
    /longer than 1000000 characters/,
  ],
  [
    'a forgotten await in a request',
    'const said = tools.prompt([{ role: "user", content: "a" }])\n await tools.rewards([{ completion: said }])',
    /^TypeError: “completion” is a promise, not its value: write await/,
  ],
  [
    'a forgotten await in a trajectory',
    `const { ids } = ${generate}; return { ids, actions: [[1, 2]], reward: tools.rewards([{ completion: 'a' }]) }`,
    /^TypeError: “reward” is a promise, not its value: write await/,
  ],
  ['a proxy', 'return new Proxy({}, { get() { throw 1 }, ownKeys() { throw 1 } })', /./],
  ['a thenable that never calls back', 'return { then() {} }', /waits for something that is not a request/],
  [
    'a tampered world',
    `JSON.stringify = () => '{"trajectories":[]}'; Promise.prototype.then = () => 0; Array.prototype.concat = () => 0; ${generate}; return null`,
    /returned before a request/,
  ],
]

describe('a sentence on memory, wherever it ran out', () => {
  test.each([
    ['among many waits', 'const f = async () => { await 0; await f() }; await f()'],
    ['in a tree of calls', 'const f = async () => { await Promise.all([f(), f()]) }; await f()'],
  ])('%s', async (_, body) => {
    await using sandbox = await workflow(body, { memoryMb: 8, callMs: 60_000, batchMs: 120_000 })
    const end = only(await sandbox.episode([{ ...start, asked: [], answers: [] }]))
    expect(failureOf(end)).toMatch(/^The code needs more memory than it may use/)
  })

  // A promise whose rejection finds no memory is never settled: then that is what is said, once nothing else goes on.
  test('in a callback', async () => {
    const body = `const f = () => Promise.resolve().then(f); await Promise.all([f(), ${generate}])`
    await using sandbox = await workflow(body, { memoryMb: 8, callMs: 60_000, batchMs: 120_000 })
    const { end } = await play(sandbox, 200)
    expect(failureOf(end)).toMatch(
      /^The code needs more memory than it may use|waits for something that is not a request/,
    )
  })
})

describe('a sentence on the episode', () => {
  test.each(hostile)('%s', async (_, body, sentence) => {
    await using sandbox = await workflow(body)
    const { end } = await play(sandbox, 200)
    expect(failureOf(end)).toMatch(sentence)
    expect('failure' in end).toBe(true)
  })

  test('and on no other', async () => {
    const cases = hostile.map(([, body], i) => `async () => { ${body} /* ${i} */ }`)
    await using sandbox = await openJs(
      `let s, engine, tools, prompt
       const cases = [${cases.join(',\n')}]
       export default defineWorkflow({ async episode(sample) {
         ;({ engine, tools, prompt } = s = sample)
         if (sample.row.which >= 0) return cases[sample.row.which]()
         const answer = await engine.generate({ ids: [5] })
         return { ids: answer.allIds, actions: answer.actionMask }
       } })`,
    )
    const asked = ['{"ids":[5],"kind":"generate"}']
    const good = { ...start, row: { which: -1 }, asked, answers: answersTo(asked) }
    const bad = cases.map((__, which) => ({ ...start, row: { which }, asked: [], answers: [] }))
    const answers = await sandbox.episode(bad.flatMap((each) => [each, good]))
    for (const [i, answer] of answers.entries()) {
      if (i % 2 === 1) expect(answer).toMatchObject({ trajectories: [{ ids: [5, 10], actions: [0, 1] }] })
      else expect(failureOf(answer)).not.toMatch(/^\{"trajectories":\[/)
    }
  })

  test('another request than before', async () => {
    await using sandbox = await workflow(`await engine.generate({ ids: [1] }); return null`)
    const asked = ['{"ids":[2],"kind":"generate"}']
    const end = only(await sandbox.episode([{ ...start, asked, answers: answersTo(asked) }]))
    expect(failureOf(end)).toMatch(/^Request 1 of the episode is another than before/)
  })
})

test('a reward is no workflow, and a workflow no reward', async () => {
  await using sandbox = await workflow('return null')
  expect(sandbox.kind).toBe('workflow')
  await expect(sandbox.reset([])).rejects.toThrow(/not an environment|reward function/)
  await using reward = await openJs('export default () => 1')
  await expect(reward.episode([])).rejects.toThrow('The code is not a workflow.')
})

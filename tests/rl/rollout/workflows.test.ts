import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { GenerateOptions, GenerationRequest } from '#engine/policy.ts'
import { rewardTrajectories } from '#rl/rollout/trajectoryRewards.ts'
import type { EpisodeNews } from '#rl/rollout/openEpisode.ts'
import type { Prompt } from '#rl/rollout/prompts.ts'
import { generateTrajectories } from '#rl/rollout/rollout.ts'
import { createTurnText } from '#rl/rollout/turnText.ts'
import { playWorkflow, type WorkflowOptions } from '#rl/rollout/workflows.ts'
import type { EpisodeRun, EpisodeStep, ReturnedTrajectory, TextAsk, Workflow } from '#rl/rollout/workflow.ts'
import { fakePolicy, fakeTokenizer, stopId } from '../fakePolicy.ts'
import { likesC } from '../training/run.ts'

interface Completed {
  readonly ids: readonly number[]
  readonly text: string
  readonly finishReason: string
}

/** What request `number` of a run was answered with. */
const completionsOf = (run: EpisodeRun, number: number) =>
  (run.answers[number] as { completions: readonly Completed[] }).completions

const generate = (ids: readonly number[], more: object = {}): EpisodeStep => {
  const request = { kind: 'generate', ids, ...more } as const
  return { requests: [{ text: JSON.stringify(request), request }] }
}

const returning = (trajectories: readonly ReturnedTrajectory[] | null): EpisodeStep => ({
  trajectories,
  columns: { seen: 1 },
  metrics: {},
})

/** An episode as a function of its answers. */
const workflowOf = (play: (run: EpisodeRun) => EpisodeStep, pause: () => number = () => 0): Workflow => ({
  id: 'own',
  async run(runs) {
    await wait(pause())
    return runs.map(play)
  },
})

const sampling = {
  greedy: false,
  temperature: 1,
  topK: 0,
  topP: 1,
  minP: 0,
  repetitionPenalty: 1,
  minNewTokens: 0,
  maxNewTokens: 6,
  stopIds: [stopId],
  stopStrings: [],
}
const decode = (ids: Iterable<number>) => fakeTokenizer.decode(ids)

function optionsOf(workflow: Workflow, policy = fakePolicy()): WorkflowOptions {
  const text = createTurnText({
    tokenizer: fakeTokenizer,
    chatTemplate: null,
    applyChatTemplate: false,
    strictBoundary: true,
  })
  const rewards = { rewards: [likesC], onFailure: 'null', step: 3 } as const
  const tools = {
    rewards,
    environment: null,
    hasCritic: false,
    tokenizer: fakeTokenizer,
    chatTemplate: null,
    text,
  }
  return { policy, generate: { role: 'actor', sampling }, decode, workflow, tools }
}

const prompts: Prompt[] = ['ab', 'ca', 'bbb'].map((text, row) => ({
  row,
  columns: { name: text },
  text,
  ids: fakeTokenizer.encode(text),
}))
const request = { prompts, groupSize: 2, seed: 5, step: 3, source: 'training' } as const

/** One completion of the prompt, and `returned` of it. */
const oneTurn = (
  returned: (ids: number[], start: number, run: EpisodeRun) => readonly ReturnedTrajectory[] | null,
) =>
  workflowOf((run) => {
    const ids = run.prompt?.ids ?? []
    if (run.answers.length === 0) return generate(ids)
    return returning(returned([...ids, ...completionsOf(run, 0)[0]!.ids], ids.length, run))
  })

describe('trajectories of a workflow', () => {
  test('of one turn are those without a workflow', async () => {
    const own = await playWorkflow(
      request,
      optionsOf(oneTurn((ids, start) => [{ ids, actions: [[start, ids.length]] }])),
    )
    const options = { policy: fakePolicy(), generate: { role: 'actor', sampling } as const, decode }
    const built = await generateTrajectories(request, options)
    const bare = own.map(({ workflow: _, subgroup: _subgroup, tokenLimit: _limit, ...rest }) => rest)
    expect(bare).toEqual(built.map(({ tokenLimit: _, ...rest }) => rest))
    expect(own.map(({ tokenLimit }) => tokenLimit)).toEqual(own.map(() => 6))
  })

  test('hold the log-probabilities and turns that the engine recorded', async () => {
    const workflow = workflowOf((run) => {
      const ids = run.prompt?.ids ?? []
      if (run.answers.length === 0) return generate(ids)
      const first = [...ids, ...completionsOf(run, 0)[0]!.ids, 3, 4]
      if (run.answers.length === 1) return generate(first, { maxNewTokens: 2 })
      const all = [...first, ...completionsOf(run, 1)[0]!.ids]
      const mask = all.map((_, i) => i >= ids.length && (i < first.length - 2 || i >= first.length))
      return returning([{ ids: all, actions: mask, turnRewards: [1, null], reward: 2, baseline: 0.5 }])
    })
    const policy = fakePolicy()
    const own = await playWorkflow(request, optionsOf(workflow, policy))
    const heads = await policy.score(own, { role: 'actor', temperature: 1 })
    for (const [i, { actionMask, turnIds, samplerLogprobs, baselineReward }] of own.entries()) {
      const scored = [...heads[i]!.logprobs].filter((_, t) => actionMask[t] === 1)
      expect([...samplerLogprobs!].map((p) => p.toFixed(9))).toEqual(scored.map((p) => p.toFixed(9)))
      expect(new Set(turnIds)).toEqual(new Set([-1, 0, 1]))
      expect(baselineReward).toBe(0.5)
    }
    const options = { rewards: [likesC], onFailure: 'null', step: 3, tokenizer: fakeTokenizer } as const
    const [first] = await rewardTrajectories(own, options)
    expect(first).toMatchObject({ turnRewards: [1, 2], reward: { total: 3, parts: {}, logged: { seen: 1 } } })
  })

  test('may be several, in groups of their own, or none', async () => {
    const workflow = oneTurn((ids, start, run) => {
      if (run.row['name'] === 'ca') return null
      const own = { ids, actions: [[start, ids.length]] as [number, number][] }
      return [{ ...own, group: 'x' }, { ...own, group: 'y' }, { ...own, group: 'x' }, own]
    })
    const own = await playWorkflow(request, optionsOf(workflow))
    expect(own.map(({ group, subgroup, workflow: how }) => [group, subgroup, how?.end])).toEqual([
      ...[0, 0].flatMap(() => [1, 2, 1, 0].map((subgroup) => [0, subgroup, 'returned'])),
      ...[1, 1].map((group) => [group, undefined, 'rejected']),
      ...[2, 2].flatMap(() => [1, 2, 1, 0].map((subgroup) => [2, subgroup, 'returned'])),
    ])
    const scored = await rewardTrajectories(own, {
      rewards: [likesC],
      onFailure: 'zero',
      step: 3,
      tokenizer: fakeTokenizer,
    })
    expect(scored.map(({ reward }) => reward.total === null)).toEqual(own.map(({ group }) => group === 1))
  })
})

test('the tokenizer answers an episode at once, however often it asks, but nothing twice', async () => {
  const asksText = (ask: TextAsk): EpisodeStep => ({ asksText: { text: JSON.stringify(ask), ask } })
  const told = (run: EpisodeRun, ask: TextAsk) => run.textAnswers?.[JSON.stringify(ask)]
  const workflow = workflowOf((run) => {
    const encode = { kind: 'encode', text: 'ab' } as const
    const ids = told(run, encode) as number[] | undefined
    if (ids === undefined) return asksText(encode)
    const decode = { kind: 'decode', ids } as const
    const text = told(run, decode) as string | undefined
    if (text === undefined) return asksText(decode)
    return { failure: { message: `said ${text}` } }
  })
  const own = await playWorkflow(request, optionsOf(workflow))
  expect(own.map(({ workflow: how }) => how?.failure)).toEqual(own.map(() => 'said ab'))
  const endless = workflowOf(() => asksText({ kind: 'encode', text: 'a' }))
  const [first] = await playWorkflow(request, optionsOf(endless))
  expect(first?.workflow?.failure).toMatch(/what it was told before/)
  const curious = workflowOf((run) =>
    asksText({ kind: 'encode', text: 'a'.repeat(Object.keys(run.textAnswers ?? {}).length) }),
  )
  const [second] = await playWorkflow({ ...request, groupSize: 1 }, optionsOf(curious))
  expect(second?.workflow?.failure).toMatch(/more than 512 questions/)
})

test('old turns may have left the prompt, but nothing else', async () => {
  const windowed = (prompt: (ids: number[], start: number) => number[]) =>
    workflowOf((run) => {
      const ids = run.prompt?.ids ?? []
      if (run.answers.length === 0) return generate([...ids, 5, 6, 7])
      const first = [...ids, 5, 6, 7, ...completionsOf(run, 0)[0]!.ids]
      if (run.answers.length === 1) return generate(prompt(first, ids.length))
      const all = [...first, ...completionsOf(run, 1)[0]!.ids]
      return returning([{ ids: all, actions: [[first.length, all.length]], reward: 1 }])
    })
  const endsOf = async (prompt: (ids: number[], start: number) => number[]) =>
    (await playWorkflow(request, optionsOf(windowed(prompt)))).map(({ workflow: how }) => how?.end)
  const [returned, failed] = ['returned', 'failed'].map((end) => Array.from({ length: 6 }, () => end))
  expect(await endsOf((ids, start) => [...ids.slice(0, start), ...ids.slice(start + 2)])).toEqual(returned)
  expect(await endsOf((ids, start) => [...ids.slice(0, start), 8, ...ids.slice(start + 2)])).toEqual(failed)
  expect(await endsOf((ids) => [4, ...ids.slice(1)])).toEqual(failed)
})

test('the same words in a later turn are those of the later turn', async () => {
  const again = { temperature: 0.5, maxNewTokens: 1 }
  const workflow = workflowOf((run) => {
    const ids = run.prompt?.ids ?? []
    if (run.answers.length === 0) return generate(ids, { maxNewTokens: 1 })
    const first = [...ids, ...completionsOf(run, 0)[0]!.ids, ...ids]
    if (run.answers.length === 1) return generate(first, again)
    const all = [...first, ...completionsOf(run, 1)[0]!.ids]
    const actions: [number, number][] = [
      [ids.length, ids.length + 1],
      [first.length, all.length],
    ]
    return returning([{ ids: all, actions, reward: 1 }])
  })
  // Whatever comes second is as likely as at half the temperature.
  const table = Float64Array.from({ length: 81 }, (_, i) => (i % 9 === 3 ? 6 : 0))
  const own = await playWorkflow(request, optionsOf(workflow, fakePolicy({ table })))
  const same = own.filter(({ ids }) => ids.at(-1) === 3 && ids[Math.floor((ids.length - 2) / 2)] === 3)
  expect(same.length).toBeGreaterThan(2)
  for (const { samplerLogprobs } of same) {
    expect(samplerLogprobs![0]).toBeCloseTo(-Math.log(1 + 8 * Math.exp(-6)), 9)
    expect(samplerLogprobs![1]).toBeCloseTo(-Math.log(1 + 8 * Math.exp(-12)), 9)
  }
})

describe('what is no trajectory is a sentence on the episode', () => {
  const spans = (ids: readonly number[], start: number) => ({
    ids,
    actions: [[start, ids.length]] as [number, number][],
  })
  const cases: readonly [string, (ids: number[], start: number) => ReturnedTrajectory, RegExp][] = [
    [
      'forged ids',
      (ids, start) => spans([...ids.slice(0, start), 7, 7, 7, 7, 7, 7, 7], start),
      /did not generate them/,
    ],
    ['one forged id behind real ones', (ids, start) => spans([...ids, 7], start), /did not generate them/],
    [
      'a changed id',
      (ids, start) =>
        spans(
          ids.map((id, i) => (i === start ? (id % 8) + 1 : id)),
          start,
        ),
      /did not generate them/,
    ],
    ['the prompt as actions', (ids) => spans(ids, 1), /did not generate them/],
    ['the first token as action', (ids) => spans(ids, 0), /first token/],
    ['no action', (ids) => ({ ids, actions: ids.map(() => 0) }), /No token of the trajectory is an action/],
    ['a mask of another length', (ids) => ({ ids, actions: [0, 1] }), /“actions” has 2 entries/],
    ['a span out of range', (ids) => ({ ids, actions: [[2, 99]] }), /span from 2 to 99/],
    ['unknown ids', (ids, start) => spans([99, ...ids], start + 1), /a token 99/],
    [
      'more than the model reads',
      (ids, start) => spans([...Array<number>(40).fill(1), ...ids], start + 40),
      /reads only 32/,
    ],
    [
      'a reward too large',
      (ids, start) => ({ ...spans(ids, start), reward: 1e200 }),
      /“reward”: .*too large/,
    ],
    [
      'rewards of other turns',
      (ids, start) => ({ ...spans(ids, start), turnRewards: [1, 2] }),
      /2 rewards, but the trajectory has 1 turns/,
    ],
  ]
  test.each(cases)('%s', async (_, returned, sentence) => {
    const workflow = oneTurn((ids, start, run) => [
      run.row['name'] === 'ab' ? returned(ids, start) : { ...spans(ids, start), reward: 1 },
    ])
    const own = await playWorkflow(request, optionsOf(workflow))
    const scored = await rewardTrajectories(own, {
      rewards: [likesC],
      onFailure: 'null',
      step: 3,
      tokenizer: fakeTokenizer,
    })
    for (const { group, reward, workflow: how } of scored) {
      if (group > 0) expect(reward).toMatchObject({ total: 1, failures: [] })
      else {
        expect(how?.failure).toMatch(sentence)
        expect(reward).toMatchObject({ total: null, failures: [{ name: 'workflow', message: how?.failure }] })
      }
    }
    await expect(
      rewardTrajectories(own, { rewards: [likesC], onFailure: 'fail', step: 3, tokenizer: fakeTokenizer }),
    ).rejects.toThrow(sentence)
  })

  test('a shortest completion above the longest', async () => {
    const own = await playWorkflow(
      request,
      optionsOf(workflowOf(() => generate([1, 2], { minNewTokens: 7 }))),
    )
    for (const { workflow: how } of own)
      expect(how?.failure).toMatch(/minNewTokens is 7, but maxNewTokens is 6/)
  })

  test('ids of another episode', async () => {
    const stolen: number[][] = []
    const workflow = oneTurn((ids, start) => {
      stolen.push(ids)
      return [spans(stolen[0]!, start)]
    })
    const options = optionsOf(workflow)
    const own = await playWorkflow({ ...request, prompts: prompts.slice(0, 1) }, options)
    expect(own.map(({ workflow: how }) => how?.end).sort()).toEqual(['failed', 'returned'])
  })

  test('rounds without an end, and prompts that leave no room', async () => {
    const endless = workflowOf((run) =>
      generate([1, 2], { greedy: true, maxNewTokens: 1, topK: run.answers.length % 3 }),
    )
    const [first] = await playWorkflow({ ...request, groupSize: 1 }, optionsOf(endless))
    expect(first?.workflow?.failure).toMatch(/did not end within 256 rounds/)
    const long = workflowOf((run) => {
      if (run.answers.length === 0) return generate(Array<number>(30).fill(1))
      return returning(completionsOf(run, 0)[0]!.finishReason === 'context' ? null : [])
    })
    const policy = fakePolicy()
    const [own] = await playWorkflow(request, optionsOf(long, policy))
    expect(own?.workflow?.end).toBe('rejected')
    expect(policy.calls).toEqual({})
  })
})

/** Two to four turns, more for some rows than for others, sampled and greedy. */
const turns = (run: EpisodeRun): EpisodeStep => {
  let ids = run.prompt?.ids ?? []
  const actions: [number, number][] = []
  for (let turn = 0; turn < run.answers.length; turn++) {
    const own = completionsOf(run, turn)[0]!.ids
    actions.push([ids.length, ids.length + own.length])
    ids = [...ids, ...own, turn + 1]
  }
  const most = 2 + ((run.seed + ids.length) % 3)
  if (run.answers.length < most) return generate(ids, { maxNewTokens: 2, greedy: run.answers.length === 1 })
  return returning([{ ids: ids.slice(0, -1), actions, reward: 1 }])
}

test('what joins the batch, and when, does not depend on how long episodes take', async () => {
  const recorded = async (pause: () => number) => {
    const policy = fakePolicy()
    const log: string[] = []
    const asPasses = {
      ...policy,
      /** One completion a pass, as a batch of one row would. */
      async *generate(given: readonly GenerationRequest[], options: GenerateOptions) {
        const queue = [...given.entries()]
        let asked = given.length
        for (let pass = 0; ; pass++) {
          const more = await options.later?.(queue.length === 0)
          if (more === null) return
          for (const each of more ?? []) {
            log.push(`pass ${pass}: ${each.promptIds.join(' ')} ${each.sampling?.greedy === true}`)
            queue.push([asked++, each])
          }
          const [number, next] = queue.shift()!
          const { later: _, ...rest } = options
          for await (const completion of policy.generate([next], rest))
            yield { ...completion, request: number }
        }
      },
    }
    const own = await playWorkflow(request, { ...optionsOf(workflowOf(turns, pause)), policy: asPasses })
    return { log, ids: own.map(({ ids }) => [...ids]) }
  }
  let count = 0
  const [quick, slow] = [await recorded(() => 0), await recorded(() => (count++ % 3) * 15)]
  expect(quick.log.length).toBeGreaterThan(8)
  expect(slow).toEqual(quick)
})

test('whoever looks on is told of requests with what is read and answered, and of each line once', async () => {
  const workflow = workflowOf((run) => {
    const lines = ['begins', 'asks again', 'ends'].slice(0, run.answers.length + 1)
    const judge = { kind: 'rewards', of: [{ completion: 'cc' }] } as const
    if (run.answers.length === 0) return { ...generate(run.prompt!.ids, { greedy: true }), lines }
    if (run.answers.length === 1)
      return { requests: [{ text: JSON.stringify(judge), request: judge }], lines }
    return { failure: { message: 'no more', line: 7, column: 1 }, lines }
  })
  const news: EpisodeNews[] = []
  const one = { ...request, prompts: prompts.slice(0, 1), groupSize: 1 }
  const [played] = await playWorkflow({ ...one, onNews: (each) => news.push(each) }, optionsOf(workflow))
  expect(news.map(({ type }) => type)).toEqual([
    ...['printed', 'request', 'prompt', 'completions', 'printed', 'request', 'answer', 'printed', 'failed'],
  ])
  const told = (type: EpisodeNews['type']) => news.filter((each) => each.type === type)
  expect(told('printed')).toMatchObject([
    { lines: ['begins'] },
    { lines: ['asks again'] },
    { lines: ['ends'] },
  ])
  expect(told('request')).toMatchObject([
    { number: 0, round: 1, request: { kind: 'generate', greedy: true } },
    { number: 1, round: 2, request: { kind: 'rewards' } },
  ])
  expect(told('prompt')).toMatchObject([{ number: 0, ids: prompts[0]!.ids, sampling: { greedy: true } }])
  expect(told('completions')).toMatchObject([
    { number: 0, completions: [{ ids: [...played!.ids.slice(2)] }] },
  ])
  expect(told('answer')).toMatchObject([{ number: 1, answer: [{ parts: { c: 1 / 3 } }] }])
  expect(told('failed')).toMatchObject([{ message: 'no more', line: 7 }])
  expect(played!.workflow?.failure).toBe('no more (line 7)')
})

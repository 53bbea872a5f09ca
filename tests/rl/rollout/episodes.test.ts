import { describe, expect, test } from 'vitest'
import type { Environment, EnvironmentAnswer } from '#rl/rollout/environment.ts'
import {
  type EpisodeLimits,
  type EpisodeOptions,
  type EpisodeRequest,
  playEpisodes,
} from '#rl/rollout/episodes.ts'
import { createTurnText } from '#rl/rollout/turnText.ts'
import { eachSample } from '#rl/rewards.ts'
import { rewardTrajectories } from '#rl/rollout/trajectoryRewards.ts'
import { randomStream } from '#shared/random.ts'
import { fakePolicy, fakeTokenizer, stopId } from '../fakePolicy.ts'

const sampling = {
  greedy: false,
  temperature: 1,
  topK: 0,
  topP: 1,
  minP: 0,
  repetitionPenalty: 1,
  minNewTokens: 0,
  maxNewTokens: 3,
  stopIds: [stopId],
  stopStrings: [],
}

interface Counting {
  readonly word: string
  readonly turn: number
}

/** Says a letter by chance; an `h` ends it, an `f` breaks it. Reward: letters of the turn, and the turn's number. */
const letters: Environment = {
  id: 'letters',
  description: 'For tests.',
  maxTurns: 4,
  reset: (starts) =>
    Promise.resolve(
      starts.map(({ row, seed }) => ({
        state: { word: String(row['word']), turn: 0 } satisfies Counting,
        observation: String(row['word']) + chance(seed),
        reward: null,
        terminated: false,
      })),
    ),
  step: (actions) =>
    Promise.resolve(actions.map(({ state, action, seed }) => stepped(state as Counting, action, seed))),
}

const chance = (seed: number): string => 'abcde'[Math.floor(randomStream(seed).uniformAt(0) * 5)]!

function stepped({ word, turn }: Counting, action: string, seed: number): EnvironmentAnswer {
  if (action.includes('f')) return { failure: { message: 'It broke.', line: 3 } }
  const reward = action.length + 10 * turn
  const state = { word: word + action, turn: turn + 1 }
  return {
    state,
    observation: chance(seed),
    reward,
    terminated: action.includes('h'),
    metrics: { turn },
    columns: { word },
  }
}

const text = createTurnText({
  tokenizer: fakeTokenizer,
  chatTemplate: null,
  applyChatTemplate: false,
  strictBoundary: true,
})

const unlimited: EpisodeLimits = {
  maxTurns: 4,
  maxPromptTokens: 1000,
  maxTranscriptTokens: 1000,
  slidingWindow: false,
  contextLength: 1003,
  maxNewTokens: 3,
}

const optionsOf = (limits: Partial<EpisodeLimits> = {}, environment = letters): EpisodeOptions => ({
  environment,
  policy: fakePolicy(),
  generate: { role: 'actor', sampling },
  decode: fakeTokenizer.decode,
  text,
  limits: { ...unlimited, ...limits },
  criticTokens: null,
})

const rowsOf = (...words: string[]) => words.map((word, row) => ({ row, columns: { word } }))

const request = (rows: EpisodeRequest['rows'], changes: Partial<EpisodeRequest> = {}): EpisodeRequest => ({
  rows,
  groupSize: 3,
  seed: 1,
  step: 2,
  source: 'training',
  ...changes,
})

const rows = rowsOf('ab', 'c', 'dd', 'e', 'a', 'bc')

describe('episodes', () => {
  test('hold masks, turns and log-probabilities of exactly what was generated', async () => {
    const played = await playEpisodes(request(rows), optionsOf())
    expect(played.map(({ group }) => group)).toEqual(rows.flatMap((_, group) => [group, group, group]))
    for (const { ids, actionMask, turnIds, samplerLogprobs, prompt, episode, completionTokens } of played) {
      const actions = actionMask.reduce((sum, one) => sum + one, 0)
      expect([actionMask.length, turnIds!.length]).toEqual([ids.length - 1, ids.length - 1])
      expect([...ids.slice(0, prompt.ids.length)]).toEqual([...prompt.ids])
      expect([samplerLogprobs!.length, completionTokens]).toEqual([actions, actions])
      expect(Math.max(...turnIds!) + 1).toBe(episode!.turns)
      expect([...turnIds!].map((turn) => Number(turn >= 0))).toEqual([...actionMask])
      expect(episode!.turnRewards).toHaveLength(4)
      expect(episode!.total ?? 0).toBe(episode!.turnRewards.reduce((sum, reward) => sum + reward, 0))
    }
    const ends = async (maxTurns: number) => {
      const list = await playEpisodes(request(rows), optionsOf({ maxTurns }))
      return new Set(list.map(({ episode }) => episode!.end))
    }
    expect(await ends(2)).toEqual(new Set(['terminated', 'turn-limit', 'failed']))
    expect(await ends(30)).toEqual(new Set(['terminated', 'failed']))
  })

  test('every turn reads the whole transcript before it', async () => {
    const policy = fakePolicy()
    const prompts: number[][][] = []
    const options = {
      ...optionsOf(),
      policy: {
        generate: (...[requests, generate]: Parameters<typeof policy.generate>) => {
          prompts.push(requests.map(({ promptIds }) => [...promptIds]))
          return policy.generate(requests, generate)
        },
      },
    }
    const [played] = await playEpisodes(request(rowsOf('ab'), { groupSize: 1 }), options)
    const ends = [...played!.turnIds!].flatMap((turn, t, all) =>
      turn >= 0 && all[t - 1] !== turn ? [t + 1] : [],
    )
    expect(prompts.flat()).toEqual(ends.map((end) => [...played!.ids.slice(0, end)]))
    expect(ends.length).toBe(played!.episode!.turns)
  })

  test('hold the experts of each token from the turn that sampled behind it; those of a window are left out', async () => {
    const policy = fakePolicy()
    let turn = 0
    // One expert of each token: the number of the turn.
    const generate: typeof policy.generate = async function* (requests, options) {
      const now = turn++
      for await (const completion of policy.generate(requests, options)) {
        const tokens = requests[completion.request]!.promptIds.length + completion.ids.length - 1
        yield { ...completion, routes: { width: 1, experts: new Uint16Array(tokens).fill(now) } }
      }
    }
    for (const limits of [{}, { maxPromptTokens: 6, slidingWindow: true }]) {
      turn = 0
      const played = await playEpisodes(request(rows), { ...optionsOf(limits), policy: { generate } })
      for (const { ids, turnIds, routes } of played) {
        const known = routes?.experts ?? new Uint16Array(0)
        if (limits.slidingWindow !== true)
          expect(known).toHaveLength(turnIds!.lastIndexOf(Math.max(...turnIds!)) + 1)
        else expect(known.length).toBeLessThan(ids.length)
        known.forEach((expert, t) => expect([expert, -1]).toContain(turnIds![t]))
      }
      expect(played.some(({ routes }) => new Set(routes?.experts).size > 1)).toBe(true)
    }
  })

  test('do not depend on what else is in the batch', async () => {
    const together = await playEpisodes(request(rows), optionsOf())
    const alone = await playEpisodes(request([rows[2]!]), optionsOf())
    const smaller = await playEpisodes(request([rows[2]!], { groupSize: 2 }), optionsOf())
    const ids = (list: typeof together) => list.map((trajectory) => [...trajectory.ids])
    expect(ids(alone)).toEqual(ids(together.slice(6, 9)))
    expect(ids(smaller)).toEqual(ids(together.slice(6, 8)))
    const later = await playEpisodes(request([rows[2]!], { step: 3 }), optionsOf())
    expect(ids(later)).not.toEqual(ids(alone))
  })

  test('of one group begin alike; a row drawn twice begins anew; evaluations always begin alike', async () => {
    const openings = async (changes: Partial<EpisodeRequest>, drawn = rowsOf('a')) =>
      (await playEpisodes(request(drawn, changes), optionsOf())).map(({ prompt }) => prompt.text)
    expect(new Set(await openings({})).size).toBe(1)
    const twice = await openings(
      { groupSize: 1 },
      Array.from({ length: 12 }, () => rowsOf('a')[0]!),
    )
    expect(new Set(twice).size).toBeGreaterThan(1)
    const steps = await Promise.all([1, 2, 3, 4, 5, 6].map((step) => openings({ step, groupSize: 1 })))
    expect(new Set(steps.flat()).size).toBeGreaterThan(1)
    const evaluations = [1, 2, 3, 4, 5, 6].map((step) =>
      openings({ step, groupSize: 1, source: 'evaluation' }),
    )
    expect(new Set((await Promise.all(evaluations)).flat()).size).toBe(1)
  })

  test('end when the transcript is too long, and keep the turn’s reward', async () => {
    const played = await playEpisodes(request(rows), optionsOf({ maxPromptTokens: 6 }))
    const over = played.filter(({ episode }) => episode!.end === 'context-limit')
    expect(over.length).toBeGreaterThan(0)
    for (const { episode, ids, truncated } of over) {
      expect(episode!.overflow).toEqual({
        fullPromptLength: ids.length,
        maxPromptTokens: 6,
        contextLength: 1003,
        maxNewTokens: 3,
      })
      expect(ids.length).toBeGreaterThan(6)
      expect(episode!.total).toBeGreaterThan(0)
      expect(truncated).toBe(true)
    }
  })

  test('with a window go on with a shorter prompt and keep everything for learning', async () => {
    const options = optionsOf({ maxPromptTokens: 6, slidingWindow: true })
    const [free, policy] = [await playEpisodes(request(rows), options), fakePolicy()]
    const longest: number[] = []
    const watched = {
      generate: (...[requests, generate]: Parameters<typeof policy.generate>) => {
        longest.push(...requests.map(({ promptIds }) => promptIds.length))
        return policy.generate(requests, generate)
      },
    }
    const played = await playEpisodes(request(rows), { ...options, policy: watched })
    expect(Math.max(...longest)).toBeLessThanOrEqual(6)
    expect(played.map(({ ids }) => [...ids])).toEqual(free.map(({ ids }) => [...ids]))
    expect(Math.max(...played.map(({ ids }) => ids.length))).toBeGreaterThan(9)
    expect(played.some(({ episode }) => episode!.end === 'context-limit')).toBe(false)
    const bounded = await playEpisodes(
      request(rows),
      optionsOf({ ...options.limits, maxTranscriptTokens: 8 }),
    )
    expect(bounded.some(({ episode }) => episode!.end === 'context-limit')).toBe(true)
  })

  test('whose first observation does not fit never begin', async () => {
    const played = await playEpisodes(request(rowsOf('abcd', 'a')), optionsOf({ maxPromptTokens: 4 }))
    expect(played[0]!.episode).toMatchObject({ end: 'context-limit', turns: 0, total: null })
    expect(played[5]!.episode!.turns).toBeGreaterThan(0)
    const options = { rewards: [], onFailure: 'fail', step: 1, tokenizer: fakeTokenizer } as const
    const fine = played.find(({ episode }) => episode!.turns > 0 && episode!.failure === null)!
    const [left, begun] = await rewardTrajectories([played[0]!, fine], options)
    const message =
      'The first observation has 5 tokens, but at most 4 fit, since the context of 1003 must also hold 3 new tokens.'
    expect(left).toMatchObject({ reward: { total: null, failures: [{ name: 'environment', message }] } })
    expect(begun!.reward.failures).toEqual([])
  })
})

describe('what a critic is to value', () => {
  /** Two letters are left out of the state: whoever says `g` is broken off, with or without a last word. */
  const cutting: Environment = {
    ...letters,
    step: async (actions) =>
      (await letters.step(actions)).map((answer, i) =>
        'failure' in answer || !actions[i]!.action.includes('g')
          ? answer
          : {
              ...answer,
              truncated: true,
              ...(actions[i]!.action.endsWith('g') ? {} : { observation: null }),
            },
      ),
  }
  const playedWith = (limits: Partial<EpisodeLimits>, criticTokens: number | null) =>
    playEpisodes(request(rows), { ...optionsOf(limits, cutting), criticTokens })
  const actionsEnd = ({ actionMask }: { readonly actionMask: Uint8Array }) => actionMask.lastIndexOf(1) + 2

  test('is where truncated episodes were left, and nothing where they terminated or failed', async () => {
    const played = await playedWith({ maxTurns: 2 }, 1000)
    const byEnd = Map.groupBy(played, ({ episode }) => episode!.end)
    expect(new Set(byEnd.keys())).toEqual(new Set(['terminated', 'failed', 'truncated', 'turn-limit']))
    for (const end of ['terminated', 'failed'] as const)
      expect(byEnd.get(end)!.map(({ lastState }) => lastState)).toEqual(byEnd.get(end)!.map(() => null))
    for (const { ids, lastState } of byEnd.get('turn-limit')!) {
      // The environment's answer is one letter, which the policy never gets to see.
      expect([...lastState!.subarray(0, ids.length)]).toEqual([...ids])
      expect(lastState!.length).toBe(ids.length + 1)
    }
    const longer = byEnd.get('truncated')!.map(({ ids, lastState }) => lastState!.length - ids.length)
    expect(new Set(longer)).toEqual(new Set([0, 1]))
    expect(byEnd.get('truncated')!.every(({ truncated }) => truncated)).toBe(true)
  })

  test('is the last turn of the policy where what came after is too long to read', async () => {
    const limits = { maxPromptTokens: 6 }
    const over = (await playedWith(limits, 1000)).filter(({ episode }) => episode!.end === 'context-limit')
    expect(over.length).toBeGreaterThan(0)
    for (const { ids, lastState } of over) expect([...lastState!]).toEqual([...ids])
    const read = (await playedWith(limits, 6)).filter(({ episode }) => episode!.end === 'context-limit')
    for (const trajectory of read) {
      expect([...trajectory.lastState!]).toEqual([...trajectory.ids.slice(0, actionsEnd(trajectory))])
    }
    expect((await playedWith(limits, null)).every(({ lastState }) => lastState === null)).toBe(true)
  })
})

describe('rewards of episodes', () => {
  const judge = {
    name: 'length',
    weight: 2,
    function: { id: 'length', description: '', score: eachSample(({ completion }) => completion.length) },
  }
  const rewarded = async (onFailure: 'null' | 'zero' | 'fail', rewards = [judge]) =>
    rewardTrajectories(await playEpisodes(request(rows), optionsOf()), {
      rewards,
      onFailure,
      step: 1,
      tokenizer: fakeTokenizer,
    })

  test('functions judge the last turn and count for it', async () => {
    for (const { episode, reward, turnRewards } of await rewarded('null')) {
      if (episode!.failure !== null) continue
      const extra = 2 * episode!.lastAction.length
      expect(reward.parts).toEqual({ environment: episode!.total, length: episode!.lastAction.length })
      expect(reward.total).toBe(episode!.total! + extra)
      const expected = episode!.turnRewards.map((value, k) => value + (k === episode!.turns - 1 ? extra : 0))
      expect(turnRewards).toEqual(expected)
      expect(reward.metrics).toEqual({ turn: episode!.turns - 1 })
    }
  })

  test('an environment that fails costs its episode, or nothing but itself, or the run', async () => {
    const failed = (list: Awaited<ReturnType<typeof rewarded>>) =>
      list.filter(({ episode }) => episode!.end === 'failed')
    const [leftOut, counted] = [failed(await rewarded('null', [])), failed(await rewarded('zero', []))]
    expect(leftOut.length).toBeGreaterThan(0)
    for (const { reward, turnRewards } of leftOut) {
      expect(reward).toMatchObject({
        total: null,
        failures: [{ name: 'environment', message: 'It broke. (line 3)' }],
      })
      expect(turnRewards).toEqual([])
    }
    for (const { reward, episode } of counted) expect(reward.total).toBe(episode!.total ?? 0)
    await expect(rewarded('fail')).rejects.toThrow('The environment failed: It broke.')
  })
})

import { describe, expect, test } from 'vitest'
import { gapInWords, yardstick, gapsOf } from '#shared/runGaps.ts'
import { promptLabels, sampleAt, sharedPrompts, wordDiff } from '#renderer/features/compare/SamePrompt.tsx'
import { seedMeans } from '#renderer/features/compare/measures.ts'
import { meanEstimate } from '#shared/statistics.ts'
import { runDifference, seedDifference, singleDifference } from '#shared/runDifferences.ts'

describe('word diff', () => {
  const text = (before: string, after: string) =>
    wordDiff(before, after).map(
      ({ kind, text: words }) => `${{ same: '=', added: '+', removed: '-' }[kind]}${words}`,
    )

  test('words replaced, added, removed', () => {
    expect(text('the sum is 12', 'the sum is 13')).toEqual(['=the sum is ', '-12', '+13'])
    expect(text('a b c', 'a c')).toEqual(['=a ', '-b ', '=c'])
    expect(text('', 'new')).toEqual(['+new'])
    expect(text('same', 'same')).toEqual(['=same'])
  })

  test('both texts can be read from it', () => {
    const [a, b] = ['one two  three\nfour five two', 'two three\nfour  six five']
    const parts = wordDiff(a, b)
    const read = (without: string) =>
      parts
        .filter(({ kind }) => kind !== without)
        .map((part) => part.text)
        .join('')
    expect(read('added')).toBe(a)
    expect(read('removed')).toBe(b)
  })

  test('very long texts end too', () => {
    const long = (seed: number) => Array.from({ length: 4000 }, (_, i) => String((i * seed) % 7919)).join(' ')
    expect(wordDiff(long(3), long(5)).length).toBeGreaterThan(0)
  })
})

describe('the same prompt', () => {
  const sample = (
    row: number,
    prompt: string,
    step: number,
    source: 'rollout' | 'evaluation' = 'rollout',
  ) => ({
    row,
    prompt,
    step,
    source,
  })

  test('rows are the same where their prompts are; most runs first', () => {
    const found = sharedPrompts([
      [sample(1, 'a', 0), sample(1, 'a', 5), sample(2, 'b', 0)],
      [sample(1, 'a', 0), sample(2, 'other data', 0), sample(3, 'c', 0)],
      [sample(1, 'a', 0), sample(3, 'c', 0)],
    ])
    expect(found).toEqual([
      { row: 1, prompt: 'a', runs: 3 },
      { row: 3, prompt: 'c', runs: 2 },
    ])
  })

  test('the last step, evaluations before rollouts', () => {
    const samples = [sample(1, 'a', 5), sample(1, 'a', 9), sample(1, 'a', 9, 'evaluation')]
    expect(sampleAt(samples, 'last')).toBe(samples[2])
    expect(sampleAt(samples, 'first')).toBe(samples[0])
  })

  test('a prompt is known by where it differs from the others', () => {
    expect(promptLabels(['<|user|>  What is\n2 + 2?<|end|>'])).toEqual(['What is 2 + 2?'])
    expect(promptLabels(['x'.repeat(100)])[0]).toHaveLength(60)
    const ask = (what: string) =>
      `You answer questions about numbers. ${what} Reply with only the number.\nassistant`
    expect(promptLabels(['How many apples are left?', 'What is 3 + 4?'].map(ask))).toEqual([
      '… How many apples are left? Reply with only the number. ass…',
      '… What is 3 + 4? Reply with only the number. assistant',
    ])
  })
})

describe('the gap in words', () => {
  const context = { metric: 'reward', better: 'higher', name: 'b', baseline: 'a' } as const

  test('real and better', () => {
    const told = gapInWords(seedDifference([0.9, 0.91, 0.92], [0.5, 0.51, 0.52]), context)
    expect(told.verdict).toBe('better')
    expect(told.finding).toContain(
      'reward of “b” is 0.4 higher than that of “a”, more than the spread between seeds',
    )
    expect(told.ground).toContain('3 seeds against 3 seeds')
  })

  test('chance, downwards, too little', () => {
    expect(gapInWords(seedDifference([0.5, 0.9], [0.6, 0.7]), context).verdict).toBe('open')
    expect(
      gapInWords(seedDifference([0.1, 0.11], [0.6, 0.61]), { ...context, better: 'lower' }).verdict,
    ).toBe('better')
    expect(gapInWords(null, context)).toMatchObject({
      verdict: 'open',
      finding: '“reward” has too few values to tell “b” from “a”.',
    })
  })

  test('of two single runs: about their noise only, and open where they drift', () => {
    const noisy = (value: number) => Array.from({ length: 30 }, (_, i) => value + ((i * 7) % 5) * 0.01)
    const told = gapInWords(runDifference(noisy(0.9), noisy(0.5)), context)
    expect(told).toMatchObject({ verdict: 'better', isOneSeed: true })
    expect(told.finding).toMatch(
      /^reward of “b” is 0\.4 higher than that of “a”, more than the noise within these two runs explains\. .* Whether the settings make the difference is open: another seed may turn out otherwise\.$/,
    )
    expect(told.ground).toContain('about the noise within these two runs only')
    const rising = noisy(0.5).map((value, i) => value + i)
    const open = gapInWords(runDifference(rising, noisy(0.5)), context)
    expect(open.verdict).toBe('open')
    expect(open.finding).toContain('but their last values move too slowly to tell it from the noise')
    expect(gapInWords(runDifference(noisy(0.5), noisy(0.5)), context)).toMatchObject({ verdict: 'open' })
  })

  test('one run against seeds: where another seed would lie', () => {
    // Seeds 1, 2, 3: mean 2, deviation 1; t(2) = 4.303, so another would lie within ±4.303·√(4/3).
    const found = singleDifference(8, [1, 2, 3])!
    expect(found.difference).toBe(6)
    expect(found.interval?.low).toBeCloseTo(6 - 4.3026527 * Math.sqrt(4 / 3), 6)
    expect(found.isReal).toBe(true)
    expect(singleDifference(6, [1, 2, 3])?.isReal).toBe(false)
    expect(singleDifference(8, [1, 2])).toBeNull()
  })

  test('every run against the baseline, its own seeds aside', () => {
    const run = (id: string, value: number, isBaseline = false) => ({
      id,
      label: id,
      value,
      isBaseline,
      style: { color: 'red', dash: undefined },
    })
    const runs = [run('a', 0.5, true), run('b', 0.52), run('c', 0.9), run('d', 0.1)]
    const groups = [
      { id: 'g1', label: 'base · 2 seeds', runIds: ['a', 'b'] },
      { id: 'g2', label: 'c', runIds: ['c'] },
      { id: 'g3', label: 'd', runIds: ['d'] },
    ]
    const steady = (value: number) => Array.from({ length: 30 }, (_, i) => value + (i % 3) * 0.01)
    const tails = new Map([
      ['a', steady(0.5)],
      ['c', steady(0.9)],
    ])
    const gaps = gapsOf({ metric: 'reward', better: 'higher', runs, groups, tails })
    expect(gaps.map(({ id, verdict }) => [id, verdict])).toEqual([
      ['c', 'better'],
      ['d', 'open'],
    ])
    expect(yardstick('reward', 'base', [0.5, 0.52])).toContain('between 0.5 and 0.52')
  })
})

describe('means over seeds', () => {
  test('means are over the runs of a group that got furthest; a run alone has none', () => {
    const groups = [
      { id: 'g', label: 'g · 4 seeds', runIds: ['a', 'b', 'behind', 'unmeasured'] },
      { id: 'd', label: 'd', runIds: ['d'] },
    ]
    const values = new Map([
      ['a', 0.2],
      ['b', 0.4],
      ['behind', 9],
      ['d', 1],
    ])
    const stepOf = (id: string) => (id === 'behind' ? 5 : 10)
    const means = seedMeans(groups, (id) => values.get(id) ?? null, stepOf)
    expect(means).toEqual([
      { id: 'g', label: 'g · 4 seeds', count: 3, step: 10, mean: meanEstimate([0.2, 0.4]) },
    ])
  })
})

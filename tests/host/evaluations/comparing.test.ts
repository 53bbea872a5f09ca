import { describe, expect, test } from 'vitest'
import type { EvaluatedPrompt } from '#shared/api/evaluations.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import { compareEvaluations, type Compared } from '#host/evaluations/compareEvaluations.ts'
import { columnsOf, groupsBy, summarize } from '#host/evaluations/summary.ts'

type Sample = EvaluatedPrompt['samples'][number]

const sample = (reward: number | null, more: Partial<Sample> = {}): Sample => ({
  completion: 'x',
  reward,
  parts: { correct: reward },
  tokens: 4,
  truncated: false,
  turns: null,
  ...more,
})

const prompt = (row: number, samples: readonly Sample[], columns: object = {}): EvaluatedPrompt => ({
  row,
  prompt: `Question ${row}`,
  samples: [...samples],
  columns: { prompt: `Question ${row}`, ...columns },
})

const asked = { samples: 4, passAt: null }

const answers = (prompts: readonly EvaluatedPrompt[]) => ({ prompts, problems: [] })

describe('what the answers come to', () => {
  test('prompts are the unit of the mean, and a prompt without a reward is none', () => {
    const prompts = [
      prompt(0, [sample(1), sample(0), sample(1), sample(0)]),
      prompt(1, [sample(1, { truncated: true, tokens: 8 }), sample(null), sample(null), sample(null)]),
      prompt(2, [sample(null), sample(null), sample(null), sample(null)]),
    ]
    const summary = summarize(answers(prompts), asked)
    expect(summary).toMatchObject({ prompts: 2, samples: 12, unscored: 7, passRule: 1 })
    // (0.5 + 1) / 2; over samples it would be 3/5.
    expect(summary.reward?.value).toBe(0.75)
    expect(summary.truncated).toBeCloseTo(1 / 12)
    expect(summary.tokens).toBeCloseTo((11 * 4 + 8) / 12)
    expect(summary.parts).toEqual({ correct: 0.6 })
  })

  test('pass@k is counted on prompts with k samples that have a reward', () => {
    const prompts = [
      prompt(0, [sample(1), sample(0), sample(0), sample(0)]),
      prompt(1, [sample(1), sample(null), sample(null), sample(null)]),
    ]
    const { pass } = summarize(answers(prompts), asked)
    expect(pass.map(({ k, value }) => [k, value])).toEqual([
      [1, (0.25 + 1) / 2],
      [2, 0.5],
      [4, 1],
    ])
  })

  test('trajectories of one episode allow no larger k than there are episodes', () => {
    const prompts = [prompt(0, [sample(1), sample(0), sample(0), sample(0)])]
    const { pass } = summarize(answers(prompts), { ...asked, samples: 2 })
    expect(pass.map(({ k, value }) => [k, value])).toEqual([
      [1, 0.25],
      [2, 0.5],
    ])
  })

  test('a pass is what the metric says where every sample has it, or what the person says', () => {
    const solved = (correct: number) => sample(0.4, { metrics: { correct } })
    const prompts = [prompt(0, [solved(1)]), prompt(1, [solved(0)])]
    expect(summarize(answers(prompts), asked)).toMatchObject({
      passRule: 'correct',
      pass: [{ k: 1, value: 0.5 }],
    })
    expect(summarize(answers(prompts), { ...asked, passAt: 0.3 })).toMatchObject({
      passRule: 0.3,
      pass: [{ k: 1, value: 1 }],
    })
    expect(summarize(answers([...prompts, prompt(2, [sample(1)])]), asked)).toMatchObject({ passRule: 1 })
  })

  test('failures of rewards and rows without a prompt are told with the first of them', () => {
    const prompts = [prompt(0, [sample(null, { failures: ['mine: it is broken'] })])]
    const problems = [{ row: 4, problem: 'Row 5 is too long.' }]
    expect(summarize({ prompts, problems }, asked)).toMatchObject({
      failures: 1,
      failure: 'mine: it is broken',
      leftOut: 1,
      problem: 'Row 5 is too long.',
      reward: null,
    })
  })

  test('groups by a column, the largest first', () => {
    const prompts = ['add', 'sort', 'add', null].map((task, row) => prompt(row, [sample(row % 2)], { task }))
    const groups = groupsBy(prompts, 'task', 1).map(({ value, prompts: n, reward }) => [
      value,
      n,
      reward?.value,
    ])
    expect(groups).toEqual([
      ['add', 2, 0],
      ['–', 1, 1],
      ['sort', 1, 1],
    ])
    expect(columnsOf(prompts)).toEqual(['prompt', 'task'])
    expect(() => groupsBy(prompts, 'level', 1)).toThrow('The rows have no column “level”.')
    const many = Array.from({ length: 60 }, (_, row) => prompt(row, [sample(1)]))
    expect(() => groupsBy(many, 'prompt', 1)).toThrow('has 60 different values')
  })
})

describe('comparing', () => {
  const config = parseRunConfig({ model: 'm', data: { train: 'rows.jsonl' }, rewards: [{ function: 'f' }] })
  const compared = (rewards: readonly number[], changes: Partial<Compared['entry']> = {}): Compared => ({
    entry: {
      title: 't',
      config,
      samples: 1,
      greedy: true,
      judge: 'a'.repeat(64),
      status: 'finished',
      ...changes,
    },
    prompts: rewards.map((reward, row) => prompt(row, [sample(reward)])),
  })
  const zeros = new Array<number>(40).fill(0)
  const half = zeros.map((_, i) => i % 2)

  test('pairs of the same prompts say which is better', () => {
    const found = compareEvaluations(compared(zeros), compared(half))
    expect(found).toMatchObject({
      verdict: 'better',
      method: 'paired',
      prompts: 40,
      difference: 0.5,
      notes: [],
    })
    expect(found.words).toMatch(
      /^B is better by 0\.500 on 40 prompts \(95 % CI \+0\.\d+ to \+0\.\d+\); the difference is larger than chance would give, p < 0\.001\.$/,
    )
    expect(compareEvaluations(compared(half), compared(zeros))).toMatchObject({ verdict: 'worse' })
  })

  test('a few prompts that went the other way tell nothing', () => {
    const found = compareEvaluations(compared(half), compared(half.with(0, 1).with(1, 0).with(2, 1)))
    expect(found).toMatchObject({ verdict: 'alike', difference: 0.025 })
    expect(found.words).toMatch(/^They cannot be told apart on 40 prompts: .*p = 1\.000\.$/)
  })

  test('what both answered is compared; the order of rows and columns does not matter', () => {
    const b = compared(half.slice(0, 30))
    const turned = b.prompts.toReversed().map((each, row) => ({
      ...each,
      row,
      columns: Object.fromEntries(Object.entries(each.columns).toReversed()),
    }))
    const found = compareEvaluations(compared(zeros), { ...b, prompts: turned })
    expect(found).toMatchObject({ method: 'paired', prompts: 30, verdict: 'better' })
    expect(found.notes).toEqual(['Only the 30 prompts that both answered are compared.'])
  })

  test('other prompts make it unpaired, other rewards keep it from being told at all', () => {
    const others = compared(half)
    const elsewhere = others.prompts.map((each) => ({ ...each, columns: { question: each.row } }))
    const found = compareEvaluations(compared(zeros.with(0, 1)), { ...others, prompts: elsewhere })
    expect(found).toMatchObject({ method: 'unpaired', verdict: 'better', prompts: 0 })
    expect(found.notes[0]).toContain('unpaired')
    const refused = compareEvaluations(compared(zeros), compared(half, { judge: 'b'.repeat(64) }))
    expect(refused).toMatchObject({ verdict: 'refused', difference: null })
    expect(refused.words).toContain('different rewards')
  })

  test('another way of sampling, and an evaluation that is not finished, are said', () => {
    const sampled = compared(half, { greedy: false })
    expect(compareEvaluations(compared(zeros), sampled).notes[0]).toContain(
      'A used greedy decoding and B sampling',
    )
    const hot = { ...config, rollout: { ...config.rollout, temperature: 2, maxNewTokens: 7 } }
    const notes = compareEvaluations(sampled, compared(half, { greedy: false, config: hot })).notes.join(' ')
    expect(notes).toContain('B 7')
    expect(notes).toContain('sampling settings differ')
    const stopped = compareEvaluations(compared(zeros), compared(half, { status: 'stopped' }))
    expect(stopped.notes).toEqual(['B is not finished; the 40 prompts it has so far are used.'])
  })

  test('episodes are the same only with the same chance', () => {
    const world = parseRunConfig({
      model: 'm',
      data: { train: { episodes: 9 } },
      environment: { function: 'x' },
    })
    const [a, b] = [compared(zeros, { config: world }), compared(half, { config: world })]
    expect(compareEvaluations(a, b).method).toBe('paired')
    const other = compared(half, { config: { ...world, seed: 7 } })
    expect(compareEvaluations(a, other)).toMatchObject({ method: 'unpaired' })
  })
})

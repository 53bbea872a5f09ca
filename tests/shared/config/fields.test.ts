import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { algorithms } from '#rl/algorithms/registry.ts'
import {
  configSections as sections,
  fieldsOf,
  labelOf,
  rangeWords,
  sectionsOf,
  stageFields,
} from '#shared/config/fields.ts'

const algorithmFields = ({ settings }: (typeof algorithms)[number]) =>
  fieldsOf(settings, 'algorithm.settings')
const fields = new Map(sections.flatMap((section) => section.fields).map((field) => [field.key, field]))

describe('fields of the config', () => {
  test('every setting has one, but for those with a step of their own', () => {
    expect(fields.size).toBeGreaterThan(60)
    for (const key of ['model', 'data.train', 'rewards', 'algorithm', 'stages'])
      expect(fields.has(key)).toBe(false)
    expect(sections.map(({ id }) => id).slice(0, 3)).toEqual(['run', 'rollout', 'optimization'])
    expect(fields.has('checkpoints.load.optimizer')).toBe(true)
    expect(fields.has('environment.maxTurns')).toBe(true)
  })

  test('each has its explanation, and its default where the schema names one', () => {
    expect([...fields.values()].filter(({ help }) => help === '')).toEqual([])
    // `null` is a word of the config file; a control is empty.
    const ofAlgorithms = algorithms.flatMap((algorithm) => algorithmFields(algorithm))
    const foreign = [...fields.values(), ...ofAlgorithms].filter(({ help }) => /\bnull\b|`/.test(help))
    expect(foreign.map(({ key }) => key)).toEqual([])
    expect(fields.get('optimization.learningRate')).toMatchObject({
      label: 'Learning rate',
      default: 1e-4,
      control: {
        kind: 'number',
        isInteger: false,
        from: { value: 0, isExclusive: true },
        to: { value: 1, isExclusive: false },
      },
    })
  })

  test('no setting falls back to JSON', () => {
    expect([...fields.values()].filter(({ control }) => control.kind === 'json')).toEqual([])
  })

  test('a section that may be left out: a choice brings it in, and its settings are there with it', () => {
    const head = fields.get('rollout.server')
    expect(head).toMatchObject({
      isNullable: true,
      default: null,
      control: {
        kind: 'section',
        by: {
          name: 'kind',
          options: [
            { value: 'vllm', label: 'vLLM' },
            { value: 'sglang', label: 'SGLang' },
          ],
        },
      },
    })
    expect(fields.has('rollout.server.kind')).toBe(false)
    const url = fields.get('rollout.server.url')
    const retries = fields.get('rollout.server.retries')
    expect(url).toMatchObject({ label: 'Addresses', within: 'rollout.server', default: undefined })
    expect(url?.control).toEqual({ kind: 'texts' })
    expect(retries).toMatchObject({ default: 10, control: { kind: 'number', isInteger: true } })
    expect(fields.get('environment.maxTurns')?.within).toBe('environment')
    expect(fields.get('rollout.temperature')?.within).toBeUndefined()
  })

  test('what may be null says what null means', () => {
    expect(fields.get('steps')).toMatchObject({ isNullable: true, empty: 'as many as the passes need' })
    expect(fields.get('adapter.initial')).toMatchObject({
      isNullable: true,
      empty: 'starts fresh',
      control: { kind: 'text' },
    })
    expect(fields.get('optimization.maxGradNorm')?.empty).toBe('off')
  })

  test('lists, choices and unions have controls of their own', () => {
    expect(fields.get('rollout.stopStrings')?.control).toEqual({ kind: 'texts' })
    expect(fields.get('data.templateVariables')?.control).toEqual({ kind: 'variables' })
    expect(fields.get('rollout.precision')?.control).toEqual({
      kind: 'choice',
      options: [
        { value: 'f32', label: 'f32: exact' },
        { value: 'int8', label: 'int8: faster' },
      ],
    })
    expect(fields.get('adapter.targets')?.control).toMatchObject({
      kind: 'all-or-choices',
      all: 'all-linear',
    })
  })

  test('ranges in words', () => {
    const words = (key: string) => rangeWords(fields.get(key)?.control ?? { kind: 'text' })
    expect(words('adapter.rank')).toBe('A whole number from 1 up to 65536.')
    expect(words('rollout.topP')).toBe('A number above 0 up to 1.')
    expect(words('rewardLimits.memoryMb')).toBe('A number from 10 up to 1024.')
    expect(words('rollout.precision')).toBe('')
  })

  test('a stage may change sections of the run', () => {
    const keys = stageFields.map(({ key }) => key)
    expect(keys).toContain('optimization.learningRate')
    expect(keys).toContain('steps')
    expect(keys).not.toContain('data.train')
    expect(keys).not.toContain('adapter.rank')
    expect(keys).toContain('rollout.server.url')
  })
})

describe('fields of an algorithm', () => {
  test('every kind of setting has a control', () => {
    for (const algorithm of algorithms) {
      const own = algorithmFields(algorithm)
      expect(own.map(({ key }) => key)).toEqual(
        Object.keys(algorithm.settings).map((name) => `algorithm.settings.${name}`),
      )
      expect(own.filter(({ control }) => control.kind === 'json')).toEqual([])
    }
  })

  test('its name, its bounds and what off is', () => {
    const grpo = algorithms.find(({ id }) => id === 'grpo')
    if (grpo === undefined) throw new Error('Expected GRPO.')
    const own = algorithmFields(grpo)
    const field = (name: string) => own.find(({ key }) => key === `algorithm.settings.${name}`)
    expect(field('klCoefficient')).toMatchObject({
      label: 'KL coefficient (β)',
      default: 0.001,
      isNullable: false,
    })
    expect(field('advantageClipRange')).toMatchObject({
      isNullable: true,
      empty: 'off',
      control: { from: { value: 0, isExclusive: true } },
    })
    expect(field('clipCoefficient')?.control.kind).toBe('number-or-pair')
  })
})

describe('what settings are called', () => {
  test.each([...algorithms.values()])('$id: no two settings of a run have one label', (algorithm) => {
    const own = algorithmFields(algorithm).map(({ key }) => key)
    const keys = [...sections.flatMap(({ fields }) => fields.map(({ key }) => key)), ...own]
    const byLabel = Map.groupBy(keys, labelOf)
    expect([...byLabel].filter(([, sharing]) => sharing.length > 1)).toEqual([])
  })

  test('entries of lists say which one they are of', () => {
    expect(labelOf('rewards.correct.weight')).toBe('Reward correct: Weight')
    expect(labelOf('rewards[0].weight')).toBe('Reward 1: Weight')
    expect(labelOf('stages[1].optimization.learningRate')).toBe('Stage 2: Learning rate')
    expect(labelOf('stages.1.rollout.maxNewTokens')).toBe('Stage 1: Max new tokens')
  })
})

test('a section without such a choice is switched on by itself', () => {
  const inner = z.strictObject({ speed: z.number().default(1).describe('How fast.') })
  const outer = z.strictObject({ part: inner.nullable().default(null).describe('A part; null: none.') })
  const [section] = sectionsOf(z.strictObject({ whole: outer })).slice(-1)
  expect(section?.fields.map(({ key, control }) => [key, control.kind])).toEqual([
    ['whole.part', 'section'],
    ['whole.part.speed', 'number'],
  ])
  expect(section?.fields[0]?.control).toEqual({ kind: 'section', by: null })
})

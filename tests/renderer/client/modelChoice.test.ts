import { describe, expect, test } from 'vitest'
import {
  bestOf,
  checkpointWords,
  choiceTitle,
  firstWithCheckpoint,
  modelFacts,
  modelName,
  type Checkpoint,
  type ListedModel,
} from '#renderer/client/modelChoice.ts'

const starter: ListedModel = {
  name: 'starter',
  directory: '/data/models/starter',
  architecture: 'llama',
  parameters: 1_656_192,
  activeParameters: 1_656_192,
  sizeBytes: 6_620_000,
  contextLength: 128,
  fits: 'f32',
  origin: null,
}
const broken: ListedModel = {
  name: 'broken',
  directory: '/data/models/broken',
  problem: 'It has no config.json.',
  origin: null,
}
const run = { id: 'run_1', name: 'arith', algorithmTitle: 'GRPO', seed: 1 } as Parameters<
  typeof choiceTitle
>[2][number]

const checkpoint = (step: number, changes: Partial<Checkpoint> = {}): Checkpoint => ({
  runId: 'run_1',
  step,
  directory: `/runs/run_1/checkpoints/${String(step)}`,
  reward: null,
  sizeBytes: 1,
  savedAt: 0,
  isBest: false,
  problem: null,
  ...changes,
})
const problem = { code: 'checkpoint/invalid' as const, message: 'Cut short.', hint: null }

describe('bestOf', () => {
  test('the one marked best, else the last whole one', () => {
    expect(bestOf([checkpoint(1), checkpoint(2, { isBest: true }), checkpoint(3)])?.step).toBe(2)
    expect(bestOf([checkpoint(1), checkpoint(2), checkpoint(3, { problem })])?.step).toBe(2)
    expect(bestOf([checkpoint(3, { problem })])).toBeUndefined()
  })
})

test('a checkpoint in words', () => {
  expect(checkpointWords(checkpoint(30, { isBest: true, reward: 0.8833 }))).toBe(
    'Step 30 · best · eval reward 0.883',
  )
  expect(checkpointWords(checkpoint(20, { reward: 0.84 }))).toBe('Step 20 · eval reward 0.840')
  expect(checkpointWords(checkpoint(4, { problem }))).toBe('Step 4 · damaged')
})

test('a model is found by name or path, and called by its name', () => {
  expect(modelName([starter, broken], '/data/models/starter')).toBe('starter')
  expect(modelName([starter], '/elsewhere/tiny/')).toBe('tiny')
  expect(modelFacts(starter)).toBe('1.66 M parameters · llama · 6.62 MB')
  expect(modelFacts(broken)).toBe('It has no config.json.')
})

test('what stands over a completion', () => {
  const models = [starter]
  expect(choiceTitle({ model: 'starter' }, models, [run])).toBe('starter')
  expect(choiceTitle({ model: 'starter', adapter: { runId: 'run_1', step: 30 } }, models, [run])).toBe(
    'arith · step 30',
  )
  expect(choiceTitle({ model: 'starter', adapter: { path: '/a/my-adapter' } }, models, [])).toBe(
    'starter + my-adapter',
  )
})

test('export opens on the newest run with a complete checkpoint', () => {
  const runs = [{ id: 'trial' }, { id: 'broken' }, { id: 'demo' }]
  const known = (...entries: [string, Checkpoint[]][]) => firstWithCheckpoint(runs, new Map(entries))?.id
  const broken = checkpoint(2, { problem: { code: null, message: 'A file is missing.', hint: null } })
  expect(known(['trial', []])).toBeUndefined() // of the next nothing is known yet
  expect(known(['trial', []], ['broken', [broken]], ['demo', [checkpoint(30)]])).toBe('demo')
  expect(known(['trial', []], ['broken', [broken]], ['demo', []])).toBe('trial')
})

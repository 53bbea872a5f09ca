import { describe, expect, test } from 'vitest'
import { algorithmEntries } from '../../algorithmEntries.ts'
import { withValue, withValues } from '#shared/config/paths.ts'
import {
  applied,
  changeWords,
  followed,
  isActive,
  presetsFor,
  sizeOf,
} from '#renderer/features/newRun/presets.ts'
import { requireKnownParts } from '#host/runs/runConfigFile.ts'
import { parseRunConfig } from '#shared/runConfig.ts'

const small = { model: 'starter', data: { train: 'rows.jsonl' }, rewards: [{ function: 'exact-match' }] }
/** What an algorithm needs besides. */
const needed = (id: string) => (id === 'distillation' ? { reference: { model: 'teacher' } } : {})
const starter = { parameters: 1.9e6, contextLength: 128 }
const large = { parameters: 1.5e9, contextLength: 32_768 }

const algorithm = (id: string) => {
  const found = algorithmEntries.find((each) => each.id === id)
  if (found === undefined) throw new Error(`Expected ${id}.`)
  return found
}

describe('presets', () => {
  test('fit every algorithm and every size of model', () => {
    for (const each of algorithmEntries) {
      for (const model of [null, starter, large]) {
        for (const preset of presetsFor(model, each)) {
          const config = applied({ ...small, ...needed(each.id), algorithm: { id: each.id } }, preset)
          expect(() => requireKnownParts(parseRunConfig(config))).not.toThrow()
          expect(isActive(config, preset)).toBe(true)
        }
      }
    }
  })

  test('what a preset set is told apart from what a person changed', () => {
    const balanced = presetsFor(starter, algorithm('grpo')).find(({ id }) => id === 'balanced')
    const keys = Object.keys(balanced?.values ?? {})
    expect(changeWords([], balanced)).toBe('all defaults')
    expect(changeWords(keys.slice(0, 4), balanced)).toBe('4 set by “Balanced”')
    expect(changeWords([...keys.slice(0, 4), 'seed'], balanced)).toBe('4 set by “Balanced”, 1 changed')
    expect(changeWords(['seed'], undefined)).toBe('1 changed')
  })

  test('leave room for the prompt, and give small models larger steps', () => {
    const rate = (model: typeof starter) =>
      presetsFor(model, algorithm('grpo'))[1]?.values['optimization.learningRate']
    for (const { values } of presetsFor(starter, algorithm('grpo'))) {
      expect(values['rollout.maxNewTokens']).toBeLessThanOrEqual(32)
    }
    expect(rate(starter)).toBeGreaterThan(Number(rate(large)))
    expect([starter, large].map(sizeOf)).toEqual(['tiny', 'large'])
  })

  test('an algorithm that compares no group has none', () => {
    const [, balanced] = presetsFor(starter, algorithm('reinforce'))
    expect(balanced?.values['rollout.groupSize']).toBe(1)
    expect(presetsFor(starter, algorithm('sft'))[1]?.values).not.toHaveProperty('rollout.groupSize')
  })
})

describe('when the model changes', () => {
  const before = presetsFor(starter, algorithm('grpo'))
  const after = presetsFor(large, algorithm('grpo'))

  test('a new run begins balanced', () => {
    const config = followed(small, before, after)
    expect(after.map((preset) => isActive(config, preset))).toEqual([false, true, false])
  })

  test('a chosen preset goes along', () => {
    const [quick] = before
    if (quick === undefined) throw new Error('Expected a preset.')
    const config = followed(applied(small, quick), before, after)
    expect(after.map((preset) => isActive(config, preset))).toEqual([true, false, false])
  })

  test('what was set by hand stays', () => {
    const config = withValue(followed(small, before, before), 'steps', 7)
    expect(followed(config, before, after)).toEqual(config)
  })

  test('what the other preset says nothing of goes back to its default', () => {
    const [quick] = before
    if (quick === undefined) throw new Error('Expected a preset.')
    const examples = presetsFor(starter, algorithm('sft'))
    const config = followed(applied(small, quick), before, examples)
    expect(config).not.toHaveProperty('rollout.groupSize')
    expect(withValues(config, {})).toEqual(config)
  })
})

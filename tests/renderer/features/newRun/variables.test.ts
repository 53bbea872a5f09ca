import { describe, expect, test } from 'vitest'
import {
  asKind,
  initialValue,
  kindOf,
  templateInputOf,
  variablesOf,
  withoutVariable,
  withVariable,
} from '#renderer/client/templateVariables.ts'

describe('template variables', () => {
  test('are texts, numbers and flags; anything else in a config is no variable', () => {
    expect(variablesOf({ a: 'x', b: 2, c: false, d: null, e: [1] })).toEqual({ a: 'x', b: 2, c: false })
    expect(variablesOf(null)).toEqual({})
    expect(['x', 2, false].map(kindOf)).toEqual(['text', 'number', 'flag'])
  })

  test('keep what they say when their kind changes', () => {
    expect(asKind('yes', 'flag')).toBe(true)
    expect(asKind('False', 'flag')).toBe(false)
    expect(asKind(1, 'flag')).toBe(true)
    expect(asKind('2.5', 'number')).toBe(2.5)
    expect(asKind('many', 'number')).toBe(0)
    expect(asKind(true, 'text')).toBe('true')
  })

  test('a name that asks for yes or no begins with no', () => {
    expect(initialValue('enable_thinking')).toBe(false)
    expect(initialValue('thinking')).toBe(false)
    expect(initialValue('reasoning_effort')).toBe('')
  })

  test('change one by one, in their order', () => {
    const changed = withVariable({ a: 1, b: 2 }, 'a', 'x')
    expect(Object.entries(changed)).toEqual([
      ['a', 'x'],
      ['b', 2],
    ])
    expect(withoutVariable(changed, 'a')).toEqual({ b: 2 })
  })

  test('go to the preview as the config has them', () => {
    const data = { tools: 'functions', templateVariables: { enable_thinking: false } }
    expect(templateInputOf({ data })).toEqual(data)
    expect(templateInputOf({ data: { tools: null, templateVariables: {} } })).toEqual({})
    expect(templateInputOf({})).toEqual({})
  })
})

import { describe, expect, test } from 'vitest'
import { hasBoundedBacktracking } from '#engine/text/pipelineLimits.ts'

describe('hasBoundedBacktracking', () => {
  test.each([
    // Patterns of the kinds that published tokenizers use.
    String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`,
    String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
    String.raw`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{M}]*[\p{Ll}\p{M}]+(?i:'s|'t)?|\p{N}{1,3}`,
    String.raw`\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))`,
    String.raw`(?:\r?\n)+(?!\r?\n)`,
    ' ?[^(\\s|[.,!?…。，、।۔،])]+',
    String.raw`(?<!\S)\S{2,}`,
    '[一-龥぀-ゟ゠-ヿ]+',
    String.raw`\d+\.\d+\.\d+|\w+@\w+\.\w+`,
    String.raw`\s*[\r\n]+|\s+(?!\S)|\s+`,
    'a*a*b',
  ])('lets through %s', (pattern) => {
    expect(hasBoundedBacktracking(pattern)).toBe(true)
  })

  test.each([
    '(a+)+$',
    '(a*)*',
    '(?:a|aa)+$',
    String.raw`(\w+\s?)*$`,
    '((a{1,100}){1,100}){1,100}$',
    '(?:a?a)+$',
    '(?:a?[ab])+$',
    '(([a-z])+.)+[A-Z]',
    '(?:x(?=a*)y|z){2,}',
    'a*a*a*a*a*a*a*a*b',
    String.raw`(?:\s*,\s*)\w*\w*\w*\w*\w*\w*;`,
    String.raw`\w*(?:\w*)(?<x>\w*);`,
    'a*b?a*c*a*d',
    '[ab]+[ab]{0,100}[ab]*c',
    '(unclosed',
    '[unclosed',
    'unopened)',
  ])('turns away %s', (pattern) => {
    expect(hasBoundedBacktracking(pattern)).toBe(false)
  })
})

import { describe, expect, test } from 'vitest'
import { ragFit } from '#engine/runtime/generation/prefill.ts'

describe('ragFit', () => {
  test('takes as many prompts as the padded pass has room for', () => {
    expect(ragFit([10, 10, 10, 10], 30)).toBe(3)
    expect(ragFit([10, 10, 12], 35)).toBe(2)
    expect(ragFit([10, 10], 1000)).toBe(2)
  })

  test('takes one prompt even when it alone exceeds the budget', () => {
    expect(ragFit([50, 2], 30)).toBe(1)
  })

  test('leaves a prompt for later when it would cost much padding', () => {
    // 490 of 1000 positions would be padding; 90 of 1000 are tolerated, as are a few of many short ones.
    expect(ragFit([500, 10], 2000)).toBe(1)
    expect(ragFit([500, 410], 2000)).toBe(2)
    expect(ragFit([2, 17, 3, 9], 2000)).toBe(4)
  })
})

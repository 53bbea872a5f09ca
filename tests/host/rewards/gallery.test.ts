import { describe, expect, test } from 'vitest'
import { readGallery } from '#host/api/rewardsService.ts'
import { runTestCases } from '#host/code/testCases.ts'
import { openSandbox } from '#host/sandbox/sandbox.ts'

const gallery = readGallery()

describe('the gallery of rewards', () => {
  test.each(gallery.filter(({ kind }) => kind === 'reward'))(
    '$id pays for what its examples say',
    async ({ source, examples }) => {
      const results = await runTestCases(source, examples)
      for (const { name, isPassed, message } of results) expect(isPassed, `${name}: ${message}`).toBe(true)
      expect(new Set(results.map(({ row }) => row.total)).size).toBeGreaterThan(1)
    },
  )

  test('the environment ends when the number is found', async () => {
    const entry = gallery.find(({ kind }) => kind === 'environment')
    if (entry === undefined) throw new Error('Expected an environment.')
    await using sandbox = await openSandbox(entry.source)
    const [first] = await sandbox.reset([{ row: {}, seed: 7 }])
    if (first === undefined || 'failure' in first) throw new Error('Expected a beginning.')
    let [low, high, state, isOver] = [1, 100, first.state, false]
    for (let turn = 0; turn < 8 && !isOver; turn++) {
      const guess = Math.floor((low + high) / 2)
      const [answer] = await sandbox.step([{ row: {}, seed: 7, state, action: String(guess) }])
      if (answer === undefined || 'failure' in answer) throw new Error('Expected an answer.')
      if (answer.observation === 'Higher.') low = guess + 1
      else high = guess - 1
      ;[state, isOver] = [answer.state, answer.terminated]
      if (isOver) expect(answer.reward).toBe(1)
    }
    expect(isOver).toBe(true)
  })
})

import { describe, expect, test } from 'vitest'
import { isWhole, wholeTitle } from '../sweeps.ts'
import { answer, createWorkplace, linesOf } from './turnwise.ts'

describe('probe', () => {
  test('reports what was learned, as JSON', async () => {
    using place = createWorkplace()
    const done = await place.run('probe', 'constant', '--steps', '8', '--threads', '1', '--json')
    expect(done).toMatchObject({ status: 0, stderr: '' })
    const [report] = linesOf(done.stdout) as [Record<string, unknown>]
    expect(report).toMatchObject({
      probe: 'constant',
      algorithm: 'grpo',
      steps: 8,
      greedyAccuracy: 1,
      passed: true,
    })
    expect(report['sampledAccuracy']).toBeGreaterThanOrEqual(0.95)
    expect(report['seconds']).toBeGreaterThan(0)
  })

  test('fails in words where nothing was learned', async () => {
    using place = createWorkplace()
    const done = await place.run(
      'probe',
      'grid',
      '--algorithm',
      'reinforce',
      '--steps',
      '1',
      '--threads',
      '1',
    )
    expect(done.status).toBe(1)
    expect(done.stdout).toContain('not learned: requires a greedy accuracy of at least 90 %')
    expect(done.stderr).toContain('REINFORCE did not learn the probe grid')
  })

  test.runIf(isWhole)(wholeTitle('prints a table of several runs'), async () => {
    using place = createWorkplace()
    const done = await place.run('probe', 'constant', '--algorithm', 'rloo', '--seeds', '2', '--threads', '1')
    expect(done.stdout).toMatch(/constant +RLOO +1 .*\nconstant +RLOO +2 .*\n2 of 2 learned\.\n$/)
  })

  test('names the probes there are', async () => {
    const done = await answer('probe', 'maze')
    expect(done.stderr).toContain('Choose one of: constant, conditional, multi-input, grid, value.')
  })
})

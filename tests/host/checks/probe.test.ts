import { describe, expect, test } from 'vitest'
import { chooseDevice } from '#host/models/openModel.ts'
import { probeAlgorithm, probeMatrix } from '#host/checks/probe.ts'
import { isWhole, wholeTitle } from '../../sweeps.ts'

const device = await chooseDevice({ kind: 'cpu', threads: 1 })
const run = (probe: string, algorithm: string, steps?: number) =>
  probeAlgorithm({ probe, algorithm, seed: 1, device, ...(steps === undefined ? {} : { steps }) })

describe('probes on a tiny decoder', () => {
  test('GRPO learns the constant digit', async () => {
    const rewards: number[] = []
    const report = await probeAlgorithm({
      probe: 'constant',
      algorithm: 'grpo',
      seed: 1,
      device,
      steps: 8,
      onStep: (_step, _steps, reward) => rewards.push(reward),
    })
    expect(report.before.sampledAccuracy).toBeLessThan(0.5)
    expect(report).toMatchObject({ passed: true, steps: 8, measure: 'sampled', valueError: null })
    expect(report.sampledAccuracy).toBeGreaterThanOrEqual(0.95)
    expect(rewards).toHaveLength(8)
    expect(rewards.at(-1)).toBeGreaterThan(rewards[0]!)
  })

  test('a run of several turns plays the whole grid, and one step does not teach it', async () => {
    const report = await run('grid', 'reinforce', 1)
    expect(report).toMatchObject({ passed: false, measure: 'greedy', threshold: 0.9 })
    expect(report.greedyAccuracy * 12).toBeCloseTo(Math.round(report.greedyAccuracy * 12))
  })

  test.runIf(isWhole)(wholeTitle('a critic learns the value of a constant reward'), async () => {
    const report = await run('value', 'ppo', 40)
    expect(report.before.valueError).toBeGreaterThan(0.5)
    expect(report.valueError).toBeLessThan(0.15)
    await expect(run('value', 'grpo')).rejects.toThrow('is for critics')
  })

  test('a matrix leaves out what does not fit', async () => {
    const reports: string[] = []
    const matrix = { probes: ['constant', 'value'], algorithms: ['rloo'], seeds: [2, 3], device }
    for await (const { probe, algorithm, seed, passed } of probeMatrix(matrix)) {
      reports.push(`${probe} ${algorithm} ${seed} ${passed}`)
    }
    expect(reports).toEqual(['constant rloo 2 true', 'constant rloo 3 true'])
  })

  test('what cannot be is said in words', async () => {
    await expect(run('maze', 'grpo')).rejects.toThrow('no probe “maze”')
    await expect(run('grid', 'magic')).rejects.toThrow('no algorithm “magic”')
    await expect(run('grid', 'sft')).rejects.toThrow('learns from given answers')
  })
})

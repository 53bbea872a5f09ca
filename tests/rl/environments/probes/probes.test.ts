import { describe, expect, test } from 'vitest'
import { PythonRandom } from '#rl/environments/probes/probes.ts'
import { probeByName, probes } from '#rl/environments/probes/registry.ts'
import { builtInEnvironment } from '#rl/environments/tasks/registry.ts'
import { play } from '../play.ts'

describe('Python’s random numbers', () => {
  // random.Random(seed): three getrandbits(32), six randint(0, 3), six choice([1, 2, 3])
  test.each([
    [0, [3626764237, 1654615998, 3255389356], [3, 0, 2, 3, 3, 2], [2, 2, 3, 1, 3, 1]],
    [42, [2746317213, 478163327, 107420369], [2, 1, 1, 1, 0, 0], [3, 2, 1, 1, 1, 1]],
    [4294967301, [675479763, 2085189291, 1213270837], [0, 2, 1, 3, 2, 1], [2, 3, 3, 3, 1, 3]],
  ])('seed %d', (seed, bits, integers, choices) => {
    const random = new PythonRandom(seed)
    expect(bits.map(() => random.bits(32))).toEqual(bits)
    expect(integers.map(() => random.integer(0, 3))).toEqual(integers)
    expect(choices.map(() => random.choice([1, 2, 3]))).toEqual(choices)
  })

  test('go on after the first 624', () => {
    const random = new PythonRandom(7)
    const drawn = Array.from({ length: 1300 }, () => random.bits(32))
    expect(drawn.at(-1)).toBe(2010695017)
  })
})

describe('probes', () => {
  test('begin as Python’s do', async () => {
    const shown = async (id: string, seed: number) =>
      (await play(builtInEnvironment(id), { seed, actions: [] })).observations[0]
    const seeds = [0, 1, 2, 42]
    expect(await Promise.all(seeds.map((seed) => shown('probe-conditional', seed)))).toEqual(pythonDigits)
    expect(await Promise.all(seeds.map((seed) => shown('probe-multi-input', seed)))).toEqual(pythonPairs)
    expect(await Promise.all(seeds.map((seed) => shown('probe-grid', seed)))).toEqual(pythonGrids)
  })

  test('reward the target digit wherever it stands', async () => {
    const reward = async (id: string, row: object, action: string) =>
      (await play(builtInEnvironment(id), { row: { ...row }, actions: [action] })).rewards[0]
    expect(await reward('probe-constant', {}, '13')).toBe(1)
    expect(await reward('probe-constant', {}, '12')).toBe(-1)
    expect(await reward('probe-conditional', { digit: 3 }, '1')).toBe(1)
    expect(await reward('probe-conditional', { digit: 1 }, '1')).toBe(-1)
    expect(await reward('probe-multi-input', { first: 3, second: 2 }, '3')).toBe(1)
    expect(await reward('probe-multi-input', { first: 3, second: 3 }, '3')).toBe(-1)
  })

  test('the grid counts steps, ends at the target and at the limit', async () => {
    const grid = builtInEnvironment('probe-grid')
    const reached = await play(grid, { row: { position: 0, target: 2 }, actions: ['1', '3', 'x3'] })
    expect(reached).toMatchObject({
      observations: ['02', '0', '1', '2'],
      rewards: [-0.1, -0.1, 1],
      terminated: true,
    })
    const missed = await play(grid, { row: { position: 3, target: 1 }, actions: ['3', '', '2', '4', '3'] })
    expect(missed).toMatchObject({ rewards: [-0.1, -0.1, -0.1, -0.1, -1], terminated: true })
  })

  test('list every episode there is', () => {
    const counts = probes.map(({ name, episodes }) => [
      name,
      new Set(episodes.map((row) => JSON.stringify(row))).size,
    ])
    expect(Object.fromEntries(counts)).toEqual({
      constant: 1,
      conditional: 3,
      'multi-input': 9,
      grid: 12,
      value: 1,
    })
    expect(() => probeByName('maze')).toThrow('no probe “maze”')
  })
})

// choice((1, 2, 3)); two of them; randint(0, 3) and choice of the other cells.
const pythonDigits = ['2', '1', '1', '3']
const pythonPairs = ['22', '13', '11', '31']
const pythonGrids = ['31', '13', '01', '01']

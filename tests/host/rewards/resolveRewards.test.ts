import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { codeReference } from '#shared/config/codeReference.ts'
import { absoluteReward } from '#host/code/rewardCode.ts'
import { requireKnownRewards, resolveRewards } from '#host/code/resolveRewards.ts'
import { scoreRewards } from '#rl/rollout/trajectoryRewards.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const all = temporaryFolder()
const newFolder = () => mkdtempSync(path.join(all, 'one-'))

const configOf = (rewards: unknown) => parseRunConfig({ model: 'm', data: { train: 't' }, rewards })
const input = (completion: string) => ({ prompt: 'p', completion, row: { answer: 'x' }, step: 4 })

describe('the rewards of a run', () => {
  test('mix built-ins and functions of a file, each with its weight and name', async () => {
    const folder = newFolder()
    const file = path.join(folder, 'mine.ts')
    writeFileSync(
      file,
      `export const settings = { pay: 1 }
       export const a = ({ step, log }: any): number => (log.metric('step', step), step)
       export const b = ({ settings }: any): number => settings.pay`,
    )
    const config = configOf([
      { function: 'exact-match' },
      { function: `${file}#a`, weight: 0.5 },
      { function: `${file}#b`, weight: 2, settings: { pay: 3 }, name: 'paid' },
      { function: file, name: 'all' },
    ])
    await requireKnownRewards(config)
    await using rewards = await resolveRewards(config, folder)
    const [scored] = await scoreRewards(rewards.specs, [input('x')], 'fail')
    expect(scored).toMatchObject({
      parts: { 'exact-match': 1, a: 4, paid: 3, 'all.a': 4, 'all.b': 1 },
      total: 1 + 2 + 6 + 4 + 1,
      metrics: { step: 4 },
    })
  })

  test('patterns of “format” have the limits of code, and match as in JavaScript', async () => {
    const patterns = [
      ...[{}, { pattern: 'yes|no' }, { pattern: 'yes|no', ignoreCase: true }],
      ...[{ pattern: String.raw`\p{L}+(?<=é)` }, { pattern: String.raw`(?:(?:\w|\s|.)+)+!never` }],
    ]
    const config = configOf(
      patterns.map((settings, i) => ({ function: 'format', name: String(i), settings })),
    )
    await requireKnownRewards(config)
    await using rewards = await resolveRewards(config, newFolder())
    const long = `<think>${'many words\n'.repeat(200)}</think><answer>4</answer>`
    const inputs = ['<think>a\nb</think>\n<answer>4</answer>', 'yes and no', ' YES\n', 'café', long].map(
      input,
    )
    const scored = await scoreRewards(rewards.specs, inputs, 'null')
    expect(scored.map(({ parts }) => Object.values(parts))).toEqual([
      [1, 0, 0, 0, null],
      [0, 0, 0, 0, 0],
      [0, 0, 1, 0, 0],
      [0, 0, 0, 1, 0],
      [1, 0, 0, 0, null],
    ])
    expect(scored.at(-1)?.failures[0]?.message).toMatch(/^Stopped after 1000 ms/)
  })

  test('a run goes on with the code it began with', async () => {
    const folder = newFolder()
    const file = path.join(folder, 'reward.js')
    const run = path.join(folder, 'run')
    const config = configOf([{ function: file }])
    const score = async () => {
      await using rewards = await resolveRewards(config, run)
      const [scored] = await scoreRewards(rewards.specs, [input('x')], 'fail')
      return scored?.total
    }
    writeFileSync(file, 'export default () => 0.25')
    expect(await score()).toBe(0.25)
    writeFileSync(file, 'export default () => 0.75')
    expect(await score()).toBe(0.25)
    rmSync(file)
    expect(await score()).toBe(0.25)
    expect(existsSync(path.join(run, 'rewards', '0-reward.js'))).toBe(true)
  })

  test('failures follow the policy and say where', async () => {
    const folder = newFolder()
    const file = path.join(folder, 'reward.js')
    writeFileSync(
      file,
      `export default ({ completion }) => {\n  if (completion === 'b') completion.no.way\n  return 1\n}`,
    )
    await using rewards = await resolveRewards(configOf([{ function: file }]), folder)
    const inputs = ['a', 'b'].map(input)
    const asNull = await scoreRewards(rewards.specs, inputs, 'null')
    expect(asNull.map(({ total }) => total)).toEqual([1, null])
    expect(asNull[1]?.failures[0]?.message).toMatch(/TypeError.*\(line 2, column \d+\)$/)
    expect((await scoreRewards(rewards.specs, inputs, 'zero')).map(({ total }) => total)).toEqual([1, 0])
    await expect(scoreRewards(rewards.specs, inputs, 'fail')).rejects.toMatchObject({ code: 'reward/failed' })
  })

  test.each([
    ['a file that is not there', 'gone.js', 'file/unreadable', null],
    ['code that does not load', 'bad.ts', 'sandbox/failed', 'export default function ('],
    ['code without a function', 'none.ts', 'sandbox/failed', 'export const x = 1'],
    ['a function it does not have', 'some.js#b', 'config/invalid', 'export const a = () => 1'],
    ['an environment', 'env.js', 'config/invalid', 'export default { reset() {}, step() {} }'],
    [
      'a setting it does not have',
      'some.js',
      'config/invalid',
      'export const settings = { a: 1 }; export default () => 1',
    ],
  ])('%s is refused', async (_, name, code, text) => {
    const folder = newFolder()
    if (text !== null) writeFileSync(path.join(folder, name.replace(/#.*/, '')), text)
    const config = configOf([{ function: path.join(folder, name), settings: { colour: 'red' } }])
    await expect(requireKnownRewards(config)).rejects.toMatchObject({ code })
    await expect(resolveRewards(config, folder)).rejects.toMatchObject({ code })
  })

  test('paths are told from ids', () => {
    expect(codeReference('exact-match')).toBeNull()
    expect(codeReference('a/b.mts#c')).toEqual({ file: 'a/b.mts', language: 'ts', name: 'c' })
    expect(absoluteReward('r.js#x', path.resolve('/base'))).toBe(`${path.resolve('/base/r.js')}#x`)
    expect(absoluteReward('exact-match', '/base')).toBe('exact-match')
  })
})

import { Command, InvalidArgumentError } from '@commander-js/extra-typings'
import { describe, expect, test } from 'vitest'
import { answerSettings } from '#shared/api/teaching.ts'
import { listOf, oneOf, real, whole } from '#cli/command.ts'
import { settingsOf, withSettings } from '#cli/fields.ts'
import { answer } from './turnwise.ts'

describe('the text of an option', () => {
  test('becomes a value', () => {
    expect(real(-2)('-1.5')).toBe(-1.5)
    expect(whole(50, 300)('220')).toBe(220)
    expect(listOf(whole(1))('1,8')).toEqual([1, 8])
    expect(listOf(oneOf(['round', 'long']))('long, round')).toEqual(['long', 'round'])
  })

  test.each([
    [whole(50, 300), '1.5e-1', 'It must be at least 50.'],
    [whole(50, 300), '60.5', 'It must be a whole number.'],
    [whole(50, 300), '49', 'It must be at least 50.'],
    [whole(50, 300), '301', 'It must be at most 300.'],
    [whole(1), '9007199254740993', 'It must be at most 9007199254740991.'],
    [real(0), 'much', 'It must be a number.'],
    [real(0), 'Infinity', 'It must be a number.'],
    [real(0), ' ', 'It must be a number.'],
    [oneOf(['soft', 'hard']), 'burnt', 'Choose from soft, hard.'],
    [listOf(whole(1)), '1,,2', 'It must be a number.'],
  ])('%o refuses %j', (read, text, sentence) => {
    expect(() => read(text)).toThrow(new InvalidArgumentError(sentence))
  })
})

describe('a command line', () => {
  test.each([
    ['score --model', "option '--model <MODEL>' argument missing"],
    ['score --model --input x', "option '--model <MODEL>' argument missing"],
    ['score --model=', "option '--model <MODEL>' argument missing"],
    ['score --model a --model b', "option '--model <MODEL>' is given twice"],
    ['runs list --json --json', "option '--json' is given twice"],
    ['runs trash --empty=yes', "unknown option '--empty=yes'"],
    ['runs list -x', "unknown option '-x'"],
    ['runs list nothing', "too many arguments for 'list'. Expected 0 arguments but got 1."],
    ['bench --steps 1.5', "option '--steps <N>' argument '1.5' is invalid. It must be a whole number."],
    [
      'bench --only train,fly',
      "option '--only <PARTS>' argument 'train,fly' is invalid. Choose from prefill, decode, train, step, parity.",
    ],
    [
      'bench --activations drop',
      "option '--activations <HOW>' argument 'drop' is invalid. Allowed choices are auto, recompute, save.",
    ],
  ])('%s is wrong usage', async (line, sentence) => {
    const { status, stdout, stderr } = await answer(...line.split(' '))
    expect([status, stdout]).toEqual([2, ''])
    expect(stderr).toBe(`turnwise: ${sentence}\n  Add --help for usage.\n`)
  })

  test('takes the options of every command before or behind its name, and repeats those that may be', async () => {
    const empty = '{"runs":[],"freedBytes":0}\n'
    for (const line of [
      '--json runs trash --data-dir /nonexistent',
      'runs --json trash',
      'runs trash --json',
    ])
      expect(await answer(...line.split(' '))).toEqual({ status: 0, stdout: empty, stderr: '' })
    const { stderr } = await answer(
      ...'runs compare a b --with c --with=--d --data-dir /nonexistent'.split(' '),
    )
    expect(stderr).toMatch(/^turnwise: There is no run “a”\./)
  })
})

describe('settings of a request as options', () => {
  const parsed = (...words: readonly string[]) => {
    const command = withSettings(new Command('try').exitOverride(), answerSettings)
    command.configureOutput({ writeErr: () => undefined })
    return settingsOf(answerSettings, command.parse([...words], { from: 'user' }).opts())
  }

  test('have the names, limits and defaults of the request', () => {
    expect(parsed()).toEqual(answerSettings.parse({}))
    expect(parsed('--samples', '3', '--limit', '7', '--max-tokens', '9', '--min-reward', '-1.5')).toEqual({
      ...answerSettings.parse({}),
      samplesPerRow: 3,
      rows: 7,
      maxNewTokens: 9,
      minReward: -1.5,
    })
    expect(() => parsed('--samples', '1025')).toThrow('It must be at most 1024.')
    expect(() => parsed('--limit', '0')).toThrow('It must be at least 1.')
  })

  test('that exclude each other are refused by the sentence of the request', () => {
    expect(() => parsed('--samples', '2', '--temperature', '0')).toThrow(
      'Option --temperature: Above 0 for several answers',
    )
  })
})

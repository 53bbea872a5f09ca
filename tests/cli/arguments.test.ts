import { describe, expect, test } from 'vitest'
import { AppError } from '#shared/errors.ts'
import { findCommand, parseArguments } from '#cli/arguments.ts'
import { defineCommand, kebabCase, type Command } from '#cli/command.ts'
import { choice, choices, flag, integer, integers, number, requiredText, text } from '#cli/options.ts'
import { createOutput } from '#cli/output.ts'

const received: unknown[] = []

const bake: Command = defineCommand({
  name: 'bake',
  summary: 'Bake bread',
  positionals: [{ name: 'FLOUR', description: 'Kind of flour' }],
  options: {
    tray: requiredText('DIR', 'where it goes'),
    maxHeat: integer('N', 'degrees', { minimum: 50, maximum: 300 }),
    salt: number('G', 'grams'),
    seeds: flag('with seeds'),
    crust: choice(['soft', 'hard'], 'crust'),
    sizes: integers('loaves', [1]),
    shapes: choices(['round', 'long'], 'forms'),
    label: text('TEXT', 'label'),
  },
  run(given) {
    received.push(given)
  },
})
const bakeTwice: Command = { ...bake, name: 'bake twice' }
const commands = [bake, bakeTwice, { ...bake, name: 'model list' }, { ...bake, name: 'model random' }]

async function valuesOf(...words: string[]): Promise<unknown> {
  received.length = 0
  const output = createOutput(process, true)
  await bake.invoke(parseArguments(bake, words), { dataDirectory: '/nowhere', json: true, output })
  return received[0]
}

async function problemOf(action: () => unknown): Promise<string> {
  try {
    await action()
  } catch (error) {
    if (error instanceof AppError) return `${error.code}: ${error.message} ${error.hint ?? ''}`.trim()
    throw error
  }
  return 'no problem'
}

describe('findCommand', () => {
  test('takes the longest name', () => {
    expect(findCommand(['bake', 'twice', 'rye'], commands)).toEqual({ command: bakeTwice, rest: ['rye'] })
    expect(findCommand(['bake', 'rye'], commands)).toEqual({ command: bake, rest: ['rye'] })
  })

  test.each([
    [['bak'], 'usage/invalid: There is no command “bak”. Did you mean bake?'],
    [['quantum'], 'usage/invalid: There is no command “quantum”. turnwise --help lists the commands.'],
    [['model'], 'usage/invalid: Command model needs a second word. Choose one of: model list, model random.'],
    [['model', 'lst'], 'usage/invalid: There is no command “model lst”. Did you mean model list?'],
    [
      ['model', '--json'],
      'usage/invalid: Command model needs a second word. Choose one of: model list, model random.',
    ],
  ])('%j is an error in words', async (words, sentence) => {
    expect(await problemOf(() => findCommand(words, commands))).toBe(sentence)
  })
})

describe('options', () => {
  test('become values', async () => {
    const words = ['rye', '--tray', 'a', '--max-heat=220', '--salt', '-1.5', '--seeds', '--crust', 'hard']
    expect(await valuesOf(...words, '--sizes', '1,8', '--shapes', 'long', '--data-dir', 'd')).toEqual({
      positionals: ['rye'],
      options: {
        tray: 'a',
        maxHeat: 220,
        salt: -1.5,
        seeds: true,
        crust: 'hard',
        sizes: [1, 8],
        shapes: ['long'],
        label: undefined,
      },
    })
  })

  test('left out are undefined, flags false', async () => {
    const { options } = (await valuesOf('rye', '--tray', 'a')) as { options: Record<string, unknown> }
    expect(options['seeds']).toBe(false)
    expect(options['maxHeat']).toBeUndefined()
  })

  test.each([
    [['rye'], 'Option --tray is missing. Write --tray DIR.'],
    [['--tray', 'a'], 'Command bake needs FLOUR: kind of flour. See turnwise bake --help.'],
    [['rye', 'oat', '--tray', 'a'], 'Command bake does not take “oat”. See turnwise bake --help.'],
    [
      ['rye', '--tray', 'a', '--max-het', '3'],
      'Command bake has no option --max-het. Did you mean --max-heat?',
    ],
    [['rye', '--tray', 'a', '--zzzz'], 'Command bake has no option --zzzz. See turnwise bake --help.'],
    [['rye', '--tray', 'a', '-x'], 'Command bake has no option -x. See turnwise bake --help.'],
    [['rye', '--tray'], 'Option --tray needs a value. Write --tray DIR.'],
    [['rye', '--tray', '--seeds'], 'Option --tray needs a value. Write --tray DIR.'],
    [['rye', '--tray', 'a', '--tray', 'b'], 'Option --tray is given twice.'],
    [['rye', '--tray', 'a', '--seeds=yes'], 'Option --seeds takes no value.'],
    [['rye', '--tray', 'a', '--max-heat', '1.5'], 'Option --max-heat takes a whole number, not “1.5”.'],
    [['rye', '--tray', 'a', '--max-heat', '49'], 'Option --max-heat must be at least 50, not 49.'],
    [['rye', '--tray', 'a', '--max-heat', '301'], 'Option --max-heat must be at most 300, not 301.'],
    [['rye', '--tray', 'a', '--salt', 'much'], 'Option --salt takes a number, not “much”.'],
    [['rye', '--tray', 'a', '--crust', 'burnt'], 'Option --crust takes soft or hard, not “burnt”.'],
    [['rye', '--tray', 'a', '--sizes', '1,,2'], 'Option --sizes takes a whole number, not “”.'],
  ])('%j is wrong usage', async (words, sentence) => {
    expect(await problemOf(() => valuesOf(...words))).toBe(`usage/invalid: ${sentence}`)
  })
})

test('names in code and on the command line', () => {
  expect(['maxTokens', 'topP', 'topK', 'json'].map(kebabCase)).toEqual([
    'max-tokens',
    'top-p',
    'top-k',
    'json',
  ])
})

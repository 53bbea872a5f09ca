/** Environments whose settings come from the rows. */
import { describe, expect, test } from 'vitest'
import type { Environment } from '#rl/rollout/environment.ts'
import { type RowSettings, withRowSettings } from '#rl/environments/rowSettings.ts'
import { builtInEnvironment } from '#rl/environments/tasks/registry.ts'
import { play } from './play.ts'

const guessing = (fromRow: RowSettings['fromRow'], settings: RowSettings['settings'] = {}): Environment =>
  withRowSettings({
    known: { lowest: 1, highest: 100, guesses: 8, invalidPenalty: 0.1 },
    settings,
    fromRow,
    create: (own) => builtInEnvironment('number-guessing', own),
  })

describe('settings from the row', () => {
  test('change the episodes of that row, and how long they may be', async () => {
    const environment = guessing({ highest: 'top', guesses: 'tries' }, { invalidPenalty: 0.5 })
    const narrow = { top: 9, tries: '2' }
    const [easy, hard] = await environment.reset([
      { row: narrow, seed: 1 },
      { row: { top: 1000, tries: 5 }, seed: 1 },
    ])
    expect(easy).toMatchObject({ observation: expect.stringContaining('from 1 to 9') as string })
    expect(hard).toMatchObject({ observation: expect.stringContaining('from 1 to 1000') as string })
    expect([environment.turnsOf!(narrow), environment.turnsOf!({ top: 3, tries: 7 })]).toEqual([2, 7])
    expect(environment.maxTurns).toBe(8)
    const played = await play(environment, { row: narrow, actions: ['no number', 'none either'] })
    expect(played).toMatchObject({ rewards: [-0.5, -0.5], terminated: true })
  })

  test('answers come in the order of the episodes, each world asked once', async () => {
    const asked: number[] = []
    const environment = withRowSettings({
      known: { level: 1 },
      settings: {},
      fromRow: { level: 'level' },
      create: ({ level }) => ({
        id: 'levels',
        description: '',
        maxTurns: 1,
        reset(starts) {
          asked.push(starts.length)
          return Promise.resolve(
            starts.map(({ seed }) => ({
              state: [level, seed],
              observation: '',
              reward: null,
              terminated: false,
            })),
          )
        },
        step: () => Promise.resolve([]),
      }),
    })
    const answers = await environment.reset([2, 1, 2, 3].map((level, seed) => ({ row: { level }, seed })))
    expect(answers.map((turn) => ('failure' in turn ? null : turn.state))).toEqual([
      [2, 0],
      [1, 1],
      [2, 2],
      [3, 3],
    ])
    expect(asked).toEqual([2, 1, 1])
  })

  test('without any the environment is itself', () => {
    expect(guessing({})).not.toHaveProperty('turnsOf')
  })

  test('that are not there, or no such values, are refused in words', () => {
    expect(() => guessing({ colour: 'c' })).toThrow(
      'environment.settingsFromRow: the environment has no setting “colour”.',
    )
    const environment = guessing({ guesses: 'tries' })
    const turns = (row: Readonly<Record<string, unknown>>) => () => environment.turnsOf!(row)
    expect(turns({})).toThrow('“guesses” needs a number, but column “tries” is not there.')
    expect(turns({ tries: 'many' })).toThrow('column “tries” holds "many".')
    expect(turns({ tries: null })).toThrow('column “tries” holds null.')
    expect(turns({ tries: 0 })).toThrow('1 to 1000 guesses')
    expect(turns({ tries: '3' })).not.toThrow()
  })
})

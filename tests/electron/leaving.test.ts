import { beforeEach, describe, expect, test } from 'vitest'
import { choiceAt, Leaving } from '../../src/main/leaving.ts'
import { preventable } from './fakeElectron.ts'
import { eventually } from '../eventually.ts'

let training = 0
let buttons: number[] = []
let asked: string[] = []
let happened: string[] = []
let closing = Promise.withResolvers<undefined>()

function create(staysWithoutWindow = false): Leaving {
  const note = (what: string) => () => void happened.push(what)
  return new Leaving({
    staysWithoutWindow,
    training: () => training,
    ask(question) {
      asked.push(question.message)
      return Promise.resolve(buttons.shift() ?? -1)
    },
    hide: note('hidden'),
    showStopping: (runs) => void happened.push(`stopping ${runs}`),
    kill: note('killed'),
    async close() {
      happened.push('closing')
      await closing.promise
    },
    exit: note('exit'),
  })
}

beforeEach(() => {
  training = 0
  ;[buttons, asked, happened] = [[], [], []]
  closing = Promise.withResolvers()
})

async function isPrevented(leaving: Leaving, way: 'windowClosing' | 'quitting'): Promise<boolean> {
  const event = preventable()
  await leaving[way](event)
  return event.isPrevented
}

describe.each(['windowClosing', 'quitting'] as const)('%s', (way) => {
  test('with nothing under way asks nothing, closes what is open, then ends', async () => {
    const leaving = create()
    expect(await isPrevented(leaving, way)).toBe(true)
    expect(happened).toEqual(['closing'])
    closing.resolve(undefined)
    await eventually(() => expect(happened).toEqual(['closing', 'exit']))
    expect(asked).toEqual([])
    // Now it goes through.
    expect(await isPrevented(leaving, way)).toBe(false)
  })

  test.each([
    { button: 0, then: ['hidden'] },
    { button: 1, then: ['stopping 2', 'closing'] },
    { button: 2, then: [] },
    { button: -1, then: [] },
  ])('with runs under way does as told: button $button', async ({ button, then }) => {
    training = 2
    buttons = [button]
    expect(await isPrevented(create(), way)).toBe(true)
    expect(asked).toEqual(['2 runs are being trained'])
    expect(happened).toEqual(then)
  })

  test('while it stops asks whether to wait', async () => {
    training = 1
    buttons = [1, 0, 1]
    const leaving = create()
    await isPrevented(leaving, way)
    await isPrevented(leaving, way)
    expect(happened).toEqual(['stopping 1', 'closing'])
    await isPrevented(leaving, way)
    expect(happened).toEqual(['stopping 1', 'closing', 'killed'])
    expect(asked).toEqual(['A run is being trained', 'A run is still in a step', 'A run is still in a step'])
  })
})

test('on macOS closing the window leaves the program there', async () => {
  expect(await isPrevented(create(true), 'windowClosing')).toBe(true)
  expect(happened).toEqual(['hidden'])
  await isPrevented(create(true), 'quitting')
  expect(happened).toEqual(['hidden', 'closing'])
})

test('one question at a time', async () => {
  training = 1
  buttons = [2, 2]
  const leaving = create()
  await Promise.all([isPrevented(leaving, 'quitting'), isPrevented(leaving, 'windowClosing')])
  expect(asked).toHaveLength(1)
})

test('a shutdown of the system asks nothing, and even a failed end is an end', async () => {
  training = 1
  const leaving = create()
  const left = leaving.leave()
  closing.reject(new Error('disk'))
  await expect(left).rejects.toThrow('disk')
  expect(happened).toEqual(['stopping 1', 'closing', 'exit'])
  expect(asked).toEqual([])
})

test('no button is a cancel', () => {
  expect([0, 1, 2, 3, -1].map(choiceAt)).toEqual(['background', 'stop', 'cancel', 'cancel', 'cancel'])
})

import { describe, expect, test } from 'vitest'
import type { RunEvent } from '#shared/events.ts'
import type { PauseRequest } from '#rl/training/dependencies.ts'
import { initialState } from '#rl/training/plan.ts'
import { fakePolicy } from '../fakePolicy.ts'
import { collect, dependenciesOf, steps, withoutTimings } from './run.ts'

/** Wants a pause after each of the given steps; `during` happens while the run waits. */
function pauseAfter(wanted: readonly number[], during: () => void = () => undefined) {
  let step = 0
  let isOver = true
  const pause: PauseRequest = {
    get isWanted() {
      return !isOver
    },
    async over() {
      during()
      isOver = true
    },
  }
  const watch = (event: RunEvent) => {
    if (event.type !== 'step') return
    step = event.step
    isOver = !wanted.includes(step)
  }
  return { pause, watch }
}

const phases = (events: readonly RunEvent[]) =>
  events.flatMap((event) => {
    if (event.type === 'status') return [`${event.phase} ${event.step}`]
    return event.type === 'checkpoint-due' ? [`checkpoint ${event.reason} ${event.step}`] : []
  })

const learning = (events: readonly RunEvent[]) =>
  withoutTimings(events.filter(({ type }) => ['step', 'samples', 'evaluation'].includes(type)))

describe('a pause', () => {
  test('comes between two steps, with a checkpoint, and changes nothing of what is learned', async () => {
    const { pause, watch } = pauseAfter([2, 4])
    const [paused, plain] = [fakePolicy(), fakePolicy()]
    const events = await collect(dependenciesOf({ policy: paused, pause }), watch)
    expect(phases(events)).toEqual([
      'evaluating 0',
      'training 0',
      'checkpoint paused 2',
      'paused 2',
      'training 2',
      'checkpoint paused 4',
      'paused 4',
      'training 4',
      'checkpoint finished 6',
      'finished 6',
    ])
    const expected = await collect(dependenciesOf({ policy: plain }))
    expect(learning(events)).toEqual(learning(expected))
    expect(paused.table).toEqual(plain.table)
  })

  test('that ends with a stop ends the run where it waited', async () => {
    const stop = new AbortController()
    const { pause, watch } = pauseAfter([3], () => stop.abort())
    const events = await collect(dependenciesOf({ pause, signal: stop.signal }), watch)
    expect(steps(events)).toHaveLength(3)
    expect(phases(events).slice(-3)).toEqual(['paused 3', 'checkpoint stopped 3', 'stopped 3'])
  })

  test('after the last step is none', async () => {
    const { pause, watch } = pauseAfter([6])
    const events = await collect(dependenciesOf({ pause }), watch)
    expect(phases(events).slice(-2)).toEqual(['checkpoint finished 6', 'finished 6'])
  })
})

describe('what a run says first', () => {
  const state = initialState
  const long = { trainRows: [...'abd'.split('').map((prompt) => ({ prompt })), { prompt: 'a'.repeat(5000) }] }
  const firsts = (events: readonly RunEvent[]) =>
    events.filter(({ type }) => type === 'warning' || type === 'evaluation').map(({ type }) => type)

  test('is not said again by one that goes on, even from before the first step', async () => {
    expect(firsts(await collect(dependenciesOf(long)))).toEqual(['warning', 'evaluation', 'evaluation'])
    expect(firsts(await collect(dependenciesOf({ ...long, state })))).toEqual(['evaluation'])
  })

  test('is said by a fork, of the step it begins at', async () => {
    const events = await collect(dependenciesOf({ state: { ...state, step: 4 }, isFork: true }))
    expect(events.filter(({ type }) => type === 'evaluation')).toMatchObject([{ step: 4 }, { step: 6 }])
    expect(steps(events).map(({ step }) => step)).toEqual([5, 6])
  })
})

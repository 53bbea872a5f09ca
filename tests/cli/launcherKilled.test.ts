/** A command that is killed: what it trains ends with the step, and nothing of it is lost. */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { RunEvent } from '#shared/events.ts'
import { livingOwner } from '#host/files/living.ts'
import { eventually } from '../eventually.ts'
import { createWorkplace, linesOf } from './turnwise.ts'

const place = createWorkplace()

afterAll(() => place[Symbol.dispose]())

test('a run whose command was killed keeps a checkpoint of its step and ends', async () => {
  place.write('rows.csv', 'prompt\n1+1=\n2+2=\n')
  const config = place.write('run.json', {
    model: 'starter',
    data: { train: 'rows.csv' },
    rewards: [{ function: 'length-penalty' }],
    rollout: { promptsPerStep: 2, groupSize: 2, maxNewTokens: 6 },
    steps: 5000,
  })
  const running = place.start('train', config, '--json')
  await running.printed('"type":"step"')
  const runs = path.join(place.path('home'), 'runs')
  const directory = path.join(runs, readdirSync(runs)[0]!)
  const pid = livingOwner(path.join(directory, 'lock'))
  expect(pid).not.toBeNull()
  running.child.kill('SIGKILL')
  await running.finished
  try {
    await eventually(() => expect(livingOwner(path.join(directory, 'lock'))).toBeNull())
  } finally {
    const left = livingOwner(path.join(directory, 'lock'))
    if (left !== null) process.kill(left, 'SIGKILL')
  }
  const events = linesOf(readFileSync(path.join(directory, 'events.jsonl'), 'utf8')) as RunEvent[]
  const { step } = events.findLast((event) => event.type === 'step')!
  expect(step).toBeLessThan(5000)
  expect(events.at(-1)).toMatchObject({ type: 'status', phase: 'stopped', step })
  expect(events.findLast((event) => event.type === 'checkpoint-saved')).toMatchObject({ step })
})

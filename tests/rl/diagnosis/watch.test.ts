import { expect, test } from 'vitest'
import { AppError } from '#shared/errors.ts'
import type { RunEvent } from '#shared/events.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import { RunWatch } from '#rl/diagnosis/watch.ts'

const config = (stopOn: string) =>
  parseRunConfig({
    model: 'model',
    data: { train: 'rows.jsonl' },
    rewards: [{ function: 'exact-match', name: 'correct' }],
    optimization: { learningRate: 0.1 },
    diagnosis: { stopOn },
  })

const stepEvent = (step: number, isBroken: boolean): RunEvent => ({
  type: 'step',
  step,
  steps: 100,
  metrics: {
    step_time: 1,
    reward: isBroken ? 0 : 0.5 + (step % 3) / 20,
    reward_std: 0.3,
    entropy: isBroken ? 2.5 : 0.4,
    loss: 0.1,
  },
})

const savedAt = (step: number): RunEvent => ({
  type: 'checkpoint-saved',
  step,
  directory: `/run/checkpoints/step-00000${step}`,
  reward: null,
  sizeBytes: 1,
})

/** Breaks down after step 6, with checkpoints of steps 3 and 6. */
const history: readonly RunEvent[] = Array.from({ length: 20 }, (_, i): RunEvent[] => [
  stepEvent(i + 1, i + 1 > 6),
  ...(i + 1 === 3 || i + 1 === 6 ? [savedAt(i + 1)] : []),
]).flat()

const remarks = (watch: RunWatch, events: readonly RunEvent[]) =>
  events.flatMap((event) => watch.take(event) ?? [])

test('a finding is told as soon as five steps agree, and once', () => {
  const said = remarks(new RunWatch(config('never')), history)
  expect(said).toMatchObject([{ type: 'diagnosis', step: 11, findings: [{ id: 'policy-destroyed' }] }])
})

test('at the end it is told with the figures of then', () => {
  const ending = history.map((event) => (event.type === 'step' ? { ...event, steps: 20 } : event))
  const [first, last, ...others] = remarks(new RunWatch(config('never')), [
    ...ending.slice(0, -1),
    { type: 'step', step: 20, steps: 20, metrics: { step_time: 1, reward: 0, reward_std: 0, entropy: 6 } },
  ])
  expect(others).toEqual([])
  expect(first?.findings[0]?.words).toContain('entropy 0.4 → 2.5')
  expect(last).toMatchObject({ step: 20, findings: [{ id: 'policy-destroyed' }] })
  expect(last?.findings[0]?.words).toContain('entropy 0.4 → 3.2')
})

test('a watch that remembers the history goes on as the one that saw it', () => {
  const whole = new RunWatch(config('never'))
  const said = history.flatMap((event) => [event, whole.take(event)]).filter((event) => event !== null)
  // Up to steps 4, 10 and 11 with its remark.
  for (const length of [5, 12, 14]) {
    const resumed = new RunWatch(config('never'))
    // As a log has it: what was no number is null.
    for (const event of said.slice(0, length)) resumed.remember(JSON.parse(JSON.stringify(event)) as RunEvent)
    const rest = said.slice(length)
    const again = remarks(
      resumed,
      rest.filter(({ type }) => type !== 'diagnosis'),
    )
    expect(again).toEqual(rest.filter(({ type }) => type === 'diagnosis'))
    expect(resumed.kept).toEqual(whole.kept)
  }
})

test('the run ends where its config says so, and names the checkpoint from before', () => {
  for (const stopOn of ['destroyed', 'problem']) {
    const watch = new RunWatch(config(stopOn))
    const [remark] = remarks(watch, history)
    if (remark === undefined) throw new Error('Expected a remark.')
    const attempt = () => watch.requireWorth(remark)
    expect(attempt).toThrow(AppError)
    expect(attempt).toThrow(
      /Stopped after step 11 because of diagnosis\.stopOn: The policy was destroyed after step 6/,
    )
    expect(watch.kept.soundUntil).toBe(6)
  }
  const patient = new RunWatch(config('never'))
  for (const remark of remarks(patient, history)) patient.requireWorth(remark)
})

test('a sound run says nothing, and a warning does not end it', () => {
  const sound = Array.from({ length: 60 }, (_, i) => stepEvent(i + 1, false))
  expect(remarks(new RunWatch(config('problem')), sound)).toEqual([])
  const truncated = sound.map((event) =>
    event.type === 'step'
      ? { ...event, metrics: { ...event.metrics, 'completions/clipped_ratio': 0.6 } }
      : event,
  )
  const watch = new RunWatch(config('problem'))
  const said = remarks(watch, truncated)
  expect(said).toMatchObject([{ step: 5, findings: [{ id: 'cap-hits', severity: 'warning' }] }])
  for (const remark of said) watch.requireWorth(remark)
})

test('a long run costs little memory and is still judged by its beginning and its end', () => {
  const watch = new RunWatch(config('never'))
  const long = Array.from({ length: 12_000 }, (_, i) => stepEvent(i + 1, i + 1 > 11_000))
  // Looked at from shortly before it breaks down: every look reads the whole history.
  for (const event of long.slice(0, 10_900)) watch.remember(event)
  expect(remarks(watch, long.slice(10_900))).toMatchObject([{ findings: [{ id: 'policy-destroyed' }] }])
  expect(watch.kept.soundUntil).toBeGreaterThan(10_990)
})

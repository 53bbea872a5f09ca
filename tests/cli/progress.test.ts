import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { createOutput } from '#cli/output.ts'
import { createProgress, duration, taskProgress } from '#cli/progress.ts'

function screen(isTTY: boolean, columns = 80) {
  const stderr = Object.assign(new PassThrough(), { isTTY, columns })
  const stdout = new PassThrough()
  return { output: createOutput({ stdout, stderr }, false), text: () => String(stderr.read() ?? '') }
}

const state = (done: number, facts: string[] = []) => ({ done, total: 10, unit: 'step', facts })

describe('progress', () => {
  test('rewrites one line on a terminal and leaves the last state', () => {
    const { output, text } = screen(true)
    let now = 0
    const progress = createProgress(output, false, () => now)
    progress.update(state(4))
    now = 3000
    progress.update(state(6, ['reward 0.50']))
    progress.end()
    expect(text()).toBe('\r\u001B[Kstep 4/10\r\u001B[Kstep 6/10  reward 0.50  1.5 s/step  6 s left\n')
  })

  test('counts the pace from where this process began, not from step 0', () => {
    const { output, text } = screen(true)
    let now = 0
    const progress = createProgress(output, false, () => now)
    progress.update(state(8))
    now = 20_000
    progress.update(state(9))
    expect(text()).toContain('20 s/step  20 s left')
  })

  test('tells how long the rest takes where more is known than the pace of this process', () => {
    const { output, text } = screen(true)
    const progress = createProgress(output, false, () => 0)
    progress.update({ ...state(10), left: { secondsPerUnit: 14, low: 40, high: 90, laterStages: 1 } })
    expect(text()).toContain('step 10/10  14 s/step  40–90 s left, then another stage')
    progress.update({ ...state(1), left: null })
    expect(text()).not.toContain('left')
  })

  test('says what goes on, without numbers, where nobody knows how much there is', () => {
    const { output, text } = screen(false)
    const progress = createProgress(output, false, () => 0)
    progress.update(taskProgress({ phase: 'Comparing weights', done: 0, total: null, unit: 'tensors' }))
    expect(text()).toBe('Comparing weights\n')
  })

  test('elsewhere a last step whose evaluation goes on is not a line each time', () => {
    const { output, text } = screen(false)
    const progress = createProgress(output, false, () => 0)
    for (let done = 0; done < 5; done++) progress.update(state(10, [`evaluating ${done} of 5`]))
    expect(text().trim().split('\n')).toHaveLength(1)
  })

  test('of what is quick tells how many in a second', () => {
    const { output, text } = screen(true)
    let now = 0
    const progress = createProgress(output, false, () => now)
    progress.update({ done: 0, total: 300, unit: 'MB', facts: [] })
    now = 2000
    progress.update({ done: 100, total: 300, unit: 'MB', facts: [] })
    expect(text()).toContain('MB 100/300  50 MB/s  4 s left')
  })

  test('fits the width of the terminal', () => {
    const { output, text } = screen(true, 12)
    createProgress(output, false).update(state(4, ['a very long fact']))
    expect(text()).toBe('\r\u001B[Kstep 4/10  ')
  })

  test('a terminal without a width counts as 80 columns', () => {
    const { output, text } = screen(true, 0)
    createProgress(output, false).update(state(4, ['x'.repeat(100)]))
    expect(text().length).toBe('\r\u001B[K'.length + 79)
  })

  test('a note does not tear the line', () => {
    const { output, text } = screen(true)
    const progress = createProgress(output, false)
    progress.update(state(4))
    progress.note('kept')
    expect(text()).toBe('\r\u001B[Kstep 4/10\r\u001B[Kkept\nstep 4/10')
  })

  test('elsewhere plain lines, some seconds apart, and always the last', () => {
    const { output, text } = screen(false)
    let now = 0
    const progress = createProgress(output, false, () => now)
    for (let done = 1; done <= 10; done++) {
      progress.update(state(done))
      now += 1000
    }
    progress.end()
    expect(
      text()
        .split('\n')
        .map((line) => line.split('  ')[0]),
    ).toEqual(['step 1/10', 'step 6/10', 'step 10/10', ''])
  })

  test('an end in between shows what was held back', () => {
    const { output, text } = screen(false)
    const progress = createProgress(output, false, () => 0)
    progress.update(state(1))
    progress.update(state(2))
    progress.end()
    expect(text()).toContain('step 2/10')
  })

  test('elsewhere the end of what was done at once is one line', () => {
    const { output, text } = screen(false)
    const progress = createProgress(output, false, () => 0)
    for (let i = 0; i < 3; i++) progress.update({ done: 1, total: 1, unit: 'MB', facts: [] })
    progress.end()
    expect(text()).toBe('MB 1/1\n')
  })

  test('with --json there is none', () => {
    const { output, text } = screen(true)
    const progress = createProgress(output, true)
    progress.update(state(1))
    progress.end()
    expect(text()).toBe('')
  })

  test.each([
    [12, '12 s'],
    [200, '3 min 20 s'],
    [3725, '1 h 02 min'],
    [0.4, '0 s'],
  ])('%d seconds read %s', (value, written) => {
    expect(duration(value)).toBe(written)
  })
})

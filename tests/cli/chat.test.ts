import { afterAll, expect, test } from 'vitest'
import { createWorkplace, linesOf } from './turnwise.ts'

const workplace = createWorkplace()
afterAll(() => workplace[Symbol.dispose]())

interface Said {
  readonly text: string
  readonly seed: number
  readonly stopReason: string
}

test('chat answers line by line, keeps what was said, and answers again', async () => {
  const lines = [
    'What is 2 + 3?',
    '/again',
    'and '.repeat(150),
    '/clear',
    '/again',
    'Sort 3 1 2',
    '/quit',
    'x',
  ]
  const { status, stdout, stderr } = await workplace.runWith(
    `${lines.join('\n')}\n`,
    ...['--json', 'chat', '--model', 'starter', '--temperature', '0'],
  )
  expect(stderr).toMatch(/The prompt has \d+ tokens; the model reads 128 in all/)
  expect(stderr).toContain('There is nothing to answer again.')
  expect(status).toBe(0)
  const [first, again, sorted, ...rest] = linesOf(stdout) as Said[]
  expect(first).toMatchObject({ seed: 42, stopReason: 'stop-id' })
  expect(again?.text).toBe(first?.text)
  expect(sorted?.text).toContain('1 2 3')
  expect(rest).toEqual([])
})

test('chat streams text to people until the input ends', async () => {
  const { status, stdout } = await workplace.runWith(
    'Sort 3 1 2\n',
    ...['chat', '--model', 'starter', '--temperature', '0', '--system', 'Be brief.'],
  )
  expect(status).toBe(0)
  expect(stdout).toMatch(/\S+\n$/)
})

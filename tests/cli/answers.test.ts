/** Answers of a teacher: kept where they are right, asked for once. */
import { globSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { eventually } from '../eventually.ts'
import { answer, createWorkplace, linesOf } from './turnwise.ts'

const place = createWorkplace()
const demo = fileURLToPath(new URL('../../resources/demo/heldout.jsonl', import.meta.url))
const rows = readFileSync(demo, 'utf8').split('\n').slice(0, 12)

afterAll(() => {
  place[Symbol.dispose]()
})

interface Answered {
  readonly directory: string
  readonly answers: number
  readonly kept: number
  readonly truncated: number
}

const resultOf = (stdout: string) => linesOf(stdout)[0] as Answered
const rowsIn = ({ directory }: Answered) =>
  readFileSync(path.join(directory, 'rows.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

/** Answers in the logs of all teachers; a line may be half written. */
const keptAnswers = (): number =>
  globSync('answers/*/teacher/judge-answers.jsonl', { cwd: place.path('home') })
    .flatMap((log) =>
      readFileSync(path.join(place.path('home'), log), 'utf8')
        .split('\n')
        .slice(0, -1),
    )
    .reduce((sum, line) => sum + (JSON.parse(line) as { answers: unknown[] }).answers.length, 0)

test('right answers of several are kept, and none is asked for twice', async () => {
  const file = place.write('sums.jsonl', `${rows.join('\n')}\n`)
  const command = [
    'dataset',
    'answer',
    file,
    '--with',
    'starter',
    '--samples',
    '4',
    '--max-new-tokens',
    '16',
    '--json',
  ]
  const rewarded = [...command, '--reward', 'starter-correct', '--min-reward', '1']
  const done = await place.run(...rewarded)
  expect(done).toMatchObject({ status: 0 })
  const result = resultOf(done.stdout)
  expect(result.answers).toBe(48)
  expect(result.kept).toBeGreaterThan(4)
  expect(result.kept).toBeLessThan(48)
  for (const { completion, answer: right, reward, task } of rowsIn(result)) {
    expect([completion, reward]).toEqual([right, 1])
    expect(typeof task).toBe('string')
  }
  const folder = path.join(path.dirname(path.dirname(result.directory)), 'answers')
  const log = path.join(folder, readdirSync(folder)[0]!, 'teacher', 'judge-answers.jsonl')
  const before = readFileSync(log, 'utf8')
  const all = await place.run(...command, '--name', 'everything')
  expect(resultOf(all.stdout)).toMatchObject({ answers: 48 })
  expect(readFileSync(log, 'utf8')).toBe(before)
})

test('a command that was killed goes on where it was', async () => {
  const file = place.write('more.jsonl', `${rows.join('\n')}\n`)
  const asked: string[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => (body += String(chunk)))
    request.on('end', () => {
      const { messages } = JSON.parse(body) as { messages: { content: string }[] }
      asked.push(messages[0]!.content)
      const choices = [
        { message: { content: 'four' }, finish_reason: asked.length === 1 ? 'length' : 'stop' },
      ]
      // The first process gets eight answers and waits for a ninth.
      if (asked.length !== 9) setTimeout(() => response.end(JSON.stringify({ choices })), 20)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const command = ['dataset', 'answer', file, '--with', address, '--served-model', 'm', '--json']
  const before = keptAnswers()
  const killed = place.start(...command)
  // All but the ninth are kept, not only given.
  await eventually(() => expect(keptAnswers() - before).toBe(rows.length - 1))
  // What is needed only meanwhile is with the person's own data, too.
  const scratch = globSync('cache/.scratch.*.partial', { cwd: place.path('home') })
  expect(scratch).toHaveLength(1)
  expect(statSync(path.join(place.path('home'), scratch[0]!)).mode & 0o777).toBe(0o700)
  killed.child.kill('SIGKILL')
  await killed.finished
  const first = asked.length
  const done = await place.run(...command)
  expect(done).toMatchObject({ status: 0 })
  expect(resultOf(done.stdout)).toMatchObject({ answers: 12, truncated: 1, kept: 11 })
  // Only the one that was not answered is asked for again.
  expect(asked.slice(first)).toEqual([asked[8]])
  server.closeAllConnections()
  server.close()
})

test.each([
  [['--with', 'starter', '--min-reward', '1'], /--min-reward needs --reward/],
  [['--with', 'starter', '--samples', '2', '--temperature', '0'], /all the same/],
  [['--with', 'nobody-knows'], /no model “nobody-knows”/],
  [['--with', 'starter', '--key-variable', 'KEY'], /for an address/],
])('%j is refused', async (options, sentence) => {
  const file = place.write('few.jsonl', `${rows[0]}\n`)
  const { status, stderr } = await answer('dataset', 'answer', file, ...options)
  expect(status).not.toBe(0)
  expect(stderr).toMatch(sentence)
})

test('rows that have a completion are not answered over', async () => {
  const file = place.write('given.jsonl', '{"prompt":"1+1","completion":"2"}\n')
  const { stderr } = await answer('dataset', 'answer', file, '--with', 'starter')
  expect(stderr).toMatch(/have a column “completion” already/)
})

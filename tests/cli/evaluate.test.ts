import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { EvaluationEntry } from '#shared/api/evaluations.ts'
import { createWorkplace, killGroup, linesOf, type Finished } from './turnwise.ts'
import { isWhole, wholeTitle } from '../sweeps.ts'

const place = createWorkplace()

beforeAll(() => {
  const tasks = ['add', 'sort', 'largest']
  const rows = Array.from({ length: 24 }, (_, i) => ({
    question: `Please add ${i} and ${i + 1}`,
    answer: String(2 * i + 1),
    task: tasks[i % 3],
  }))
  place.write('rows.jsonl', rows.map((row) => JSON.stringify(row)).join('\n'))
  place.write('empty.jsonl', '')
})

afterAll(() => {
  place[Symbol.dispose]()
})

const asked = [
  ...['evaluate', '--model', 'starter', '--data', 'rows.jsonl', '--prompt', '{question}'],
  ...['--reward', 'starter-correct', '--max-new-tokens', '6'],
]

function entryOf({ stdout, stderr }: Finished): EvaluationEntry {
  const [entry] = linesOf(stdout) as EvaluationEntry[]
  if (entry === undefined) throw new Error(`Expected an evaluation, got ${stderr}`)
  return entry
}

/** Rows of the evaluation that was made last. */
function answered(): number {
  const folder = place.path('home/evaluations')
  const newest = readdirSync(folder).sort().at(-1) ?? ''
  const file = path.join(folder, newest, 'answers.jsonl')
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0
}

test('a prompt that is not clear is asked for with the column at hand', async () => {
  const file = place.write('unclear.csv', 'body text,n\nWhat?,1\n')
  const { stderr } = await place.run('evaluate', '--model', 'starter', '--data', file, '--reward', 'length')
  expect(stderr).toContain(
    "Name it with --prompt 'body text', or give a template such as --prompt 'Question: {body text}'.",
  )
})

test('mean with interval, pass@k and a table by column; two of them are compared in words', async () => {
  const greedy = await place.run(...asked, '--by', 'task')
  expect(greedy.stderr).not.toContain('turnwise:')
  expect(greedy.status).toBe(0)
  expect(greedy.stdout).toMatch(/^Evaluating starter on 24 prompts\. Evaluation ev_/)
  expect(greedy.stdout).toMatch(/Reward +\d\.\d{3}.*over 24 prompts, greedy/)
  expect(greedy.stdout).toMatch(/pass@1.*a pass is a reward of at least 1/)
  expect(greedy.stdout).toMatch(/\nadd +8 +\d\.\d{3}/)

  const sampled = await place.run('--json', ...asked, '--samples', '4', '--limit', '12', '--temperature', '2')
  const entry = entryOf(sampled)
  expect(entry).toMatchObject({ status: 'finished', total: 12, samples: 4, greedy: false })
  expect(entry.summary?.pass.map(({ k }) => k)).toEqual([1, 2, 4])

  const listed = await place.run('evaluations', 'list', '--json')
  const [{ evaluations }] = linesOf(listed.stdout) as [{ evaluations: EvaluationEntry[] }]
  expect(evaluations.map(({ total }) => total)).toEqual([24, 12])
  const [first, second] = evaluations
  if (first === undefined || second === undefined) throw new Error('Expected two evaluations.')
  const compared = await place.run('evaluations', 'compare', first.id, second.id)
  expect(compared.stdout).toContain('on 12 prompts')
  expect(compared.stdout).toContain('Only the 12 prompts that both answered are compared.')
  expect(compared.stdout).toContain('A used greedy decoding and B sampling')
  const shown = await place.run('evaluations', 'show', second.id.slice(-8), '--prompts', '1', '--by', 'task')
  expect(shown.stdout).toContain('12 of 12 prompts')
  expect(shown.stdout).toMatch(/Row \d+\n {2}│ Please add/)
  const removed = await place.run('evaluations', 'delete', second.id)
  expect(removed.stdout).toContain('Deleted the evaluation of starter')
})

test('ends with an error where every reward failed; both spellings of the longest completion are read', async () => {
  const reward = place.path('throws.js')
  writeFileSync(reward, 'export default ({ row }) => row.missing.length')
  const rest = asked.slice(1, asked.indexOf('--reward'))
  const failed = await place.run('evaluate', ...rest, '--reward', reward, '--max-tokens', '2', '--limit', '2')
  expect(failed.status).toBe(1)
  expect(failed.stdout).toMatch(/A reward failed 2 times/)
  expect(failed.stderr).toContain('Every reward failed')
})

const workflows = 'a workflow of the gallery or a file of one’s own, also without a reward function'
test.runIf(isWhole)(wholeTitle(workflows), async () => {
  const gallery = await place.run('--json', ...asked, '--workflow', 'self-correction', '--limit', '4')
  expect(gallery.stderr).not.toContain('turnwise:')
  expect(entryOf(gallery).config.rollout.workflow?.function).toMatch(/workflows[\\/]self-correction\.ts$/)
  expect(entryOf(gallery).summary?.metrics?.['attempts']).toBeGreaterThan(1)

  place.write(
    'paying.js',
    `export default defineWorkflow({
  settings: { pay: 0.5 },
  async episode({ prompt, engine, settings }) {
    const { allIds, actionMask } = await engine.generate({ ids: prompt.ids })
    return { ids: allIds, actions: actionMask, reward: settings.pay, metrics: { tokens: allIds.length } }
  },
})`,
  )
  const workflow = '{"function":"paying.js","settings":{"pay":2}}'
  const rows = ['--model', 'starter', '--data', 'rows.jsonl', '--prompt', '{question}', '--limit', '3']
  const own = await place.run(
    'evaluate',
    ...rows,
    '--max-new-tokens',
    '4',
    '--workflow',
    workflow,
    '--by',
    'task',
  )
  expect(own.stdout).toMatch(/^Evaluating starter on 3 prompts by the workflow paying\.js\. Evaluation ev_/)
  expect(own.stdout).toMatch(/Reward +2\.000 .*over 3 prompts, greedy/)
  expect(own.stdout).toMatch(/\ntokens +\d+\.\d{3} +\(metric\)/)
  expect(own.stdout).toMatch(/95 % CI +pass@1\n(?:.*2\.000.*100\.0 %\n)+/)
  const missing = await place.run('evaluate', ...rows, '--workflow', 'no-such-workflow')
  expect(missing.status).toBe(1)
  expect(missing.stderr).toContain('is not the path of a .ts or .js file')
})

test('an environment, and settings as JSON', async () => {
  const environment = '{"function":"number-guessing","maxTurns":2}'
  const played = await place.run(
    ...['evaluate', '--json', '--model', 'starter', '--environment', environment, '--limit', '5'],
    ...['--max-new-tokens', '4', '--pass-at', '0.5'],
  )
  expect(entryOf(played)).toMatchObject({ status: 'finished', total: 5, passAt: 0.5 })
  expect(entryOf(played).summary?.passRule).toBe(0.5)
})

test('Ctrl-C keeps what is done, and resume goes on with the rest', async () => {
  const running = place.start(...asked, '--samples', '256')
  await running.printed('Evaluation ev_')
  // The first answers are there when progress is told.
  await expect.poll(() => answered(), { timeout: 600_000, interval: 100 }).toBeGreaterThan(0)
  running.child.kill('SIGINT')
  const stopped = await running.finished
  expect(stopped.status).toBe(1)
  expect(stopped.stderr).toContain('Stopping; finished prompts are kept.')
  expect(stopped.stderr).toMatch(
    /The evaluation was stopped after \d+ of 24 prompts; their results are kept\./,
  )
  const id = /turnwise evaluations resume (\S+)/.exec(stopped.stderr)?.[1] ?? ''
  const resumed = await place.run('evaluations', 'resume', id, '--json')
  expect(entryOf(resumed)).toMatchObject({ id, status: 'finished', done: 24 })
})

const title = 'a killed process leaves an evaluation that is told to be interrupted'
test.runIf(isWhole)(wholeTitle(title), async () => {
  const running = place.start(...asked, '--samples', '256')
  await running.printed('Evaluation ev_')
  await expect.poll(() => answered(), { timeout: 600_000, interval: 100 }).toBeGreaterThan(0)
  killGroup(running)
  await running.finished
  const listed = await place.run('evaluations', 'list')
  expect(listed.stdout).toMatch(/starter +interrupted +\d+\/24/)
})

test.each([
  [['evaluate', '--data', 'rows.jsonl'], 'Give either --model MODEL or --run RUN.'],
  [['evaluate', '--model', 'starter'], 'Give --data DATA, or --environment ID.'],
  [['evaluate', '--model', 'starter', '--data', 'rows.jsonl'], 'nothing would be scored'],
  [['evaluate', '--run', 'nobody'], 'There is no run “nobody”.'],
  [[...asked, '--by', 'level'], 'The rows have no column “level”.'],
  [[...asked, '--greedy', '--samples', '3'], 'Greedy decoding gives the same completion every time'],
  [[...asked, '--greedy', '--temperature', '1'], 'exclude each other'],
  [[...asked.with(4, 'empty.jsonl')], 'holds no rows'],
  [[...asked.with(4, 'nothing')], 'There is no data set “nothing”.'],
  [['evaluations', 'show', 'ev_1'], 'There is no evaluation “ev_1”.'],
])('%j is refused in a sentence', async (args, sentence) => {
  const { status, stderr } = await place.run(...args)
  expect(stderr).toContain(sentence)
  expect(stderr).not.toContain('fault in Turnwise')
  expect(status).not.toBe(0)
})

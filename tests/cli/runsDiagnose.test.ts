import { appendFileSync, writeFileSync } from 'node:fs'
import { afterAll, expect, test } from 'vitest'
import { createRunFolder, runPaths } from '#host/workFolder/runFolder.ts'
import { createWorkplace, linesOf } from './turnwise.ts'

const place = createWorkplace()

afterAll(() => {
  place[Symbol.dispose]()
})

const config = {
  model: 'model',
  data: { train: 'rows.jsonl' },
  rewards: [{ function: 'exact-match' }],
  rollout: { maxNewTokens: 64 },
}

const runFolders = new Map<string, string>()

/** A run of ten steps, in the data directory. */
function runWith(
  metrics: Readonly<Record<string, number>>,
  at: (step: number) => Readonly<Record<string, number>> = () => ({}),
): string {
  const { id, directory } = createRunFolder(place.path('home'), config)
  const steps = Array.from({ length: 10 }, (_, i) =>
    JSON.stringify({
      type: 'step',
      at: 1,
      step: i + 1,
      steps: 20,
      metrics: { step_time: 1, reward: 0.5, loss: 0.3, ...metrics, ...at(i + 1) },
    }),
  )
  runFolders.set(id, directory)
  writeFileSync(runPaths(directory).events, `${steps.join('\n')}\n`)
  return id
}

/** Its log. */
function eventsOf(id: string): string {
  const directory = runFolders.get(id)
  if (directory === undefined) throw new Error(`There is no run ${id}.`)
  return runPaths(directory).events
}

test('of a healthy run the checks are listed with their figures', async () => {
  const { status, stdout } = await place.run(
    'runs',
    'diagnose',
    runWith({ 'completions/clipped_ratio': 0.125 }),
  )
  expect([status, stdout.split('\n')]).toEqual([
    0,
    [
      'Nothing looks wrong in steps 1 to 10.',
      '',
      'What was checked:',
      '  ✓ Reward                 0.5 → 0.5 (warns when less than half of its best)',
      '  ✓ Truncated completions  12.5 % (warns when above 50 %)',
      '',
    ],
  ])
})

test('a run whose policy was destroyed is told to go back to before that, and slower', async () => {
  const id = runWith({}, (step) => (step < 4 ? { reward: 0.6, entropy: 0.3 } : { reward: 0, entropy: 5.9 }))
  const { stdout } = await place.run('runs', 'diagnose', id)
  const [first, ...others] = stdout.split('\n')
  expect(first).toContain('Problem  The policy was destroyed after step 3: the reward fell from 0.6 to 0')
  expect(others.find((line) => line.includes('→'))).toBe(
    '      →  Start again with a learning rate of 0.00001: there is no checkpoint from before it. (optimization.learningRate 0.00001, in a new run)',
  )
  expect(stdout).not.toContain('tokens. (')
})

test('a finding says what it is, what it rests on and what to change', async () => {
  const id = runWith({ 'completions/clipped_ratio': 0.75 })
  const { stdout } = await place.run('runs', 'diagnose', id)
  expect(stdout.split('\n').slice(0, 3)).toEqual([
    'Warning  75 % of the completions are truncated at 64 tokens.',
    '         completions/clipped_ratio 0.75 (steps 1 to 10)',
    '      →  Raise max new tokens to 128. (rollout.maxNewTokens 128)',
  ])
  const json = await place.run('runs', 'diagnose', id, '--json')
  expect(linesOf(json.stdout)).toMatchObject([
    {
      runId: id,
      steps: 10,
      findings: [{ id: 'cap-hits', severity: 'warning', evidence: [{ value: 0.75 }] }],
    },
  ])
})

test('runs that said that something is wrong with them are marked in the list', async () => {
  const healthy = runWith({})
  const remark = (severity: 'problem' | 'warning') => ({
    type: 'diagnosis',
    at: 2,
    step: 10,
    findings: [{ id: 'cap-hits', severity, words: 'Completions are truncated.' }],
  })
  const said = (['problem', 'warning'] as const).map((severity) => {
    const id = runWith({ 'completions/clipped_ratio': 0.95 })
    appendFileSync(eventsOf(id), `${JSON.stringify(remark(severity))}\n`)
    return id
  })
  const { stdout } = await place.run('runs', 'list')
  const rows = stdout.split('\n').map((line) => line.split(/ {2,}/))
  const at = rows[0]?.indexOf('diagnosis') ?? -1
  const markOf = (id: string | undefined) => rows.find(([run]) => run === id)?.[at]
  expect([healthy, ...said].map(markOf)).toEqual(['–', 'problem', 'warning'])
  expect(stdout).toContain('turnwise runs diagnose RUN')
})

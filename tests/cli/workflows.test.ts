import { afterAll, expect, test } from 'vitest'
import type { TrialNews } from '#shared/api/workflows.ts'
import { answer, createWorkplace, linesOf } from './turnwise.ts'
import { isWhole, wholeTitle } from '../sweeps.ts'

const place = createWorkplace()
afterAll(() => place[Symbol.dispose]())

const rows = place.write(
  'rows.jsonl',
  ['{"prompt": "Add 3 and 4.", "answer": "7"}', '{"prompt": "Reverse 1 2", "answer": "2 1"}'].join('\n'),
)
const attempt = (...args: readonly string[]) =>
  place.run(...['workflow', 'try', ...args, '--model', 'starter', '--threads', '1', '--max-new-tokens', '8'])

test.runIf(isWhole)(wholeTitle('the gallery is listed with its files, which are workflows'), async () => {
  const listed = await answer('--json', 'workflow', 'list')
  const [entries] = linesOf(listed.stdout) as [{ id: string; file: string }[]]
  expect(entries.map(({ id }) => id)).toContain('self-correction')
  for (const { file } of entries) expect((await answer('workflow', 'check', file)).status).toBe(0)
  expect((await answer('workflow', 'list')).stdout).toMatch(/^tree .*tree\.ts$/m)
})

test('a file says its settings, or in a sentence why it is none', async () => {
  const tree = await answer('workflow', 'check', 'tree')
  expect(tree).toMatchObject({ status: 0, stdout: expect.stringContaining('branches = 2') as string })
  const broken = await answer('workflow', 'check', place.write('broken.js', '\nexport default ('))
  expect(broken).toMatchObject({ status: 1, stderr: expect.stringContaining('(line 2, ') as string })
  const reward = await answer('workflow', 'check', place.write('reward.js', 'export default () => 1'))
  expect(reward.stderr).toContain('The code is a reward function, not a workflow.')
  expect((await answer('workflow', 'check', 'nothing')).status).toBe(2)
})

test('an episode is told request by request, in words and in JSON', async () => {
  const asked = ['self-correction', '--data', rows, '--row', '2', '--reward', 'starter-correct']
  const told = await attempt(...asked, '--settings', '{"attempts": 2, "passing": 2}')
  expect(told).toMatchObject({ status: 0, stderr: '' })
  expect(told.stdout).toMatch(/^1 {2}generate, round 1$/m)
  expect(told.stdout).toMatch(/^1 {2}reads {4}"Reverse 1 2"$/m)
  expect(told.stdout).toMatch(/^1 {2}answers {2}".*" {2}(stop|length), log-probability -?\d/m)
  expect(told.stdout).toMatch(/^2 {2}rewards, round 2 {2}of \[\{"completion":/m)
  expect(told.stdout).toContain('That is not right. Try again.')
  expect(told.stdout).toMatch(/^1 trajectory after 5 requests in 5 rounds; ⟦…⟧ is learned from\.$/m)
  expect(told.stdout).toMatch(/^ {3}"Reverse 1 2⟦.+⟧.+⟦.+⟧"$/m)
  const json = await attempt('--json', ...asked)
  const news = linesOf(json.stdout) as TrialNews[]
  expect(news[0]).toMatchObject({ type: 'request', kind: 'generate' })
  expect(news.at(-1)).toMatchObject({ type: 'end', end: 'returned' })
  expect((await attempt('--json', ...asked)).stdout).toBe(json.stdout)
})

test('what fails is the exit status and a sentence', async () => {
  const code =
    'export default defineWorkflow({ async episode({ row }) {\n  console.log("here")\n  row.none.x } })'
  const failed = await attempt(
    place.write('fails.js', code),
    '--row',
    '{"prompt": "Hi"}',
    '--prompt',
    'prompt',
  )
  expect(failed.status).toBe(1)
  expect(failed.stdout).toMatch(/^ {3}prints {3}here$/m)
  expect(failed.stderr).toMatch(/The workflow failed: .*\(line 3\)/)
  const row = await attempt('tree', '--data', rows, '--row', '3')
  expect(row).toMatchObject({ status: 2, stderr: expect.stringContaining('numbered from 1 to 2') as string })
  expect((await attempt('tree', '--row', '[1]')).status).toBe(2)
  expect((await attempt('tree', '--data', rows, '--settings', '{"depht": 1}')).stderr).toContain('depht')
})

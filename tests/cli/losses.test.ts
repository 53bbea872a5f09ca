import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { lossCheckNames } from '#shared/losses.ts'
import { createHost } from '#host/createHost.ts'
import { answer, createWorkplace, linesOf } from './turnwise.ts'

const place = createWorkplace()
afterAll(() => place[Symbol.dispose]())

const grpo = path.join(import.meta.dirname, '../../resources/losses/grpo.ts')

test('one’s own are listed with the file of their newest version, then the gallery', async () => {
  const host = createHost({ dataDirectory: place.path('home'), servesQueue: false })
  const { id } = host.store.rewards.create('loss', 'Mine')
  host.store.rewards.create('loss', 'Without code')
  host.store.rewards.create('reward', 'No loss')
  host.store.rewards.addVersion(id, { language: 'ts', code: 'export default 1' })
  host.store.rewards.addVersion(id, { language: 'ts', code: readFileSync(grpo, 'utf8') })
  await host[Symbol.asyncDispose]()
  const { stdout } = await place.run('loss', 'list')
  const [header, first] = stdout.split('\n')
  expect(header).toMatch(/^loss +versions +file$/)
  expect(first).toMatch(/^Mine +2 +.+\.ts$/)
  const json = await place.run('--json', 'loss', 'list')
  const [losses] = linesOf(json.stdout) as [{ title: string; versions: number | null; file: string }[]]
  expect(losses.map(({ title }) => title).slice(0, 3)).toEqual(['Mine', 'grpo', 'gspo'])
  for (const { file } of losses) expect(existsSync(file)).toBe(true)
  expect((await answer('loss', 'check', losses[0]!.file)).status).toBe(0)
})

test('a sound loss says what it is and passes every check', async () => {
  const { status, stdout } = await answer('loss', 'check', grpo)
  expect(status).toBe(0)
  expect(stdout).toMatch(/^Loss +GRPO as code$/m)
  expect(stdout).toMatch(/^Setting +clip = 0\.2 {2}How far the importance ratio may move from 1\./m)
  expect(stdout).toMatch(/^Needs +.*the reference policy/m)
  expect(stdout.match(/^ok /gm)).toHaveLength(lossCheckNames.length)
  const without = await answer('loss', 'check', grpo, '--settings', '{"klCoefficient": 0}')
  expect(without.stdout).toMatch(/^Needs +log-probabilities from before the update$/m)
})

test('a wrong sign fails by name, in words and in JSON', async () => {
  const code = readFileSync(grpo, 'utf8').replace('-correction * min', 'correction * min')
  const file = place.write('wrong.ts', code)
  const { status, stdout, stderr } = await answer('loss', 'check', file)
  expect(status).toBe(1)
  expect(stdout).toMatch(/^FAIL {2}sign +The sign is wrong: token/m)
  expect(stderr).toContain('1 of 8 checks failed: sign.')
  const json = await answer('--json', 'loss', 'check', file)
  expect(json.status).toBe(1)
  const [{ checks }] = linesOf(json.stdout) as [{ checks: { name: string; fault: object | null }[] }]
  expect(checks.filter(({ fault }) => fault !== null)).toMatchObject([{ name: 'sign' }])
})

test('what does not load or is asked wrongly is said in a sentence', async () => {
  const broken = await answer('loss', 'check', place.write('broken.js', '\nexport default ('))
  expect(broken).toMatchObject({ status: 1, stderr: expect.stringContaining('(line 2, ') as string })
  const limits = await answer('loss', 'check', grpo, '--settings', '{"clip": 7}')
  expect(limits).toMatchObject({ status: 1, stderr: expect.stringContaining('clip') as string })
  expect((await answer('loss', 'check', grpo, '--settings', '[1]')).status).toBe(2)
  expect((await answer('loss', 'check', 'grpo')).status).toBe(2)
})

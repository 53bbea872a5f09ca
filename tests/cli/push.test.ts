/** `export --push`: what leaves the machine is listed first, and nothing does before the token was allowed for the hub. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { historyFile } from '#host/createHost.ts'
import { openStore } from '#host/store/store.ts'
import { randomFixture, type ExportFixture } from '../host/export/exportFixture.ts'
import { startPushHub, type PushHub } from '../host/hub/pushHub.ts'
import { createWorkplace, linesOf } from './turnwise.ts'

const place = createWorkplace()
const token = 'hf_secret-of-the-person'
const before = process.env['HF_TOKEN']
let fixture: ExportFixture
let hub: PushHub

beforeAll(async () => {
  fixture = await randomFixture(place.path('fixture'), 'tiny-llama')
})
beforeEach(async () => {
  process.env['HF_TOKEN'] = token
  hub = await startPushHub()
})
afterEach(() => hub[Symbol.asyncDispose]())
afterAll(() => {
  if (before === undefined) Reflect.deleteProperty(process.env, 'HF_TOKEN')
  else process.env['HF_TOKEN'] = before
  place[Symbol.dispose]()
})

const exporting = (out: string, format = 'peft') =>
  [
    'export',
    fixture.checkpoint,
    '--model',
    fixture.model.directory,
    '--format',
    format,
    '--out',
    out,
  ] as const
const pushing = (repo: string) => ['--push', repo, '--endpoint', hub.endpoint] as const

function expectSent(repo: string, folder: string): void {
  const { '.gitattributes': _, ...sent } = Object.fromEntries(hub.repositories.get(repo)?.files ?? [])
  const { files } = JSON.parse(readFileSync(path.join(folder, 'parity.json'), 'utf8')) as { files: string[] }
  expect(Object.keys(sent).sort()).toEqual(files)
  for (const name of files) expect(sent[name]?.equals(readFileSync(path.join(folder, name))), name).toBe(true)
}

test('without consent nobody is asked and nothing is exported', async () => {
  const done = await place.run(...exporting('refused'), ...pushing('me/sums'))
  expect(done.status).toBe(1)
  expect(done.stderr).toContain(`Sending the value of HF_TOKEN to ${hub.endpoint} has not been allowed`)
  expect(done.stderr).toContain(`turnwise key allow HF_TOKEN@${hub.endpoint}`)
  expect([hub.asked, existsSync(place.path('refused'))]).toEqual([[], false])
})

test('--trust-keys allows no hub that only the settings of the data directory name', async () => {
  const keep = (address: string | undefined) => {
    using store = openStore(historyFile(place.path('home')))
    store.settings.set('hub.endpoint', address)
  }
  keep(hub.endpoint)
  const asked = [...exporting('unnamed'), '--push', 'me/sums'] as const
  const refused = await place.run(...asked, '--trust-keys')
  expect([refused.status, refused.stderr]).toEqual([
    1,
    expect.stringContaining(`--trust-keys does not allow HF_TOKEN for ${hub.endpoint}`),
  ])
  expect([hub.asked, existsSync(place.path('unnamed'))]).toEqual([[], false])
  await place.run('key', 'allow', `HF_TOKEN@${hub.endpoint}`)
  const done = await place.run(...asked, '--trust-keys')
  keep(undefined)
  expect(done.status, done.stderr).toBe(0)
})

test('--trust-keys allows nothing before it is known that there is something to send', async () => {
  mkdirSync(place.path('papers'))
  const notes = await place.run('export', 'papers', ...pushing('me/sums'), '--trust-keys')
  expect([notes.status, notes.stderr]).toEqual([2, expect.stringContaining('Only an export on disk')])
  writeFileSync(place.path('papers/parity.json'), '{"passed":false,"files":[]}')
  const failed = await place.run('export', 'papers', ...pushing('me/sums'), '--trust-keys')
  expect([failed.status, failed.stderr]).toEqual([
    1,
    expect.stringContaining('differs from what was trained'),
  ])
  const nowhere = [...exporting('home/runs/taken'), ...pushing('me/sums'), '--trust-keys'] as const
  expect((await place.run(...nowhere)).stderr).toContain('is in the data directory')
  expect((await place.run('key', 'list')).stdout).not.toContain(hub.endpoint)
})

test('files are listed with what cannot be seen in their names', async () => {
  const out = place.path('hidden')
  await place.run(...exporting('hidden'))
  const report = JSON.parse(readFileSync(path.join(out, 'parity.json'), 'utf8')) as { files: string[] }
  const file = 'a\u200b\u2060\u{e0041}.json'
  writeFileSync(path.join(out, file), '{}')
  writeFileSync(path.join(out, 'parity.json'), JSON.stringify({ ...report, files: [...report.files, file] }))
  const done = await place.run('export', 'hidden', ...pushing('me/hidden'), '--trust-keys')
  expect(done.status, done.stderr).toBe(0)
  expect(done.stderr).toContain('B  a\\u{200b}\\u{2060}\\u{e0041}.json\n')
})

test('without a token it says where it has to be', async () => {
  Reflect.deleteProperty(process.env, 'HF_TOKEN')
  const done = await place.run(...exporting('none'), ...pushing('me/sums'), '--trust-keys')
  expect(done.stderr).toContain('the environment variable HF_TOKEN is not set')
  expect(hub.asked).toEqual([])
})

test('an adapter is exported, listed and sent, and the licence of its base is said to be unknown', async () => {
  const done = await place.run(...exporting('adapter'), ...pushing('me/sums'), '--trust-keys', '--json')
  expect(done.status, done.stderr).toBe(0)
  expectSent('me/sums', place.path('adapter'))
  const listed = done.stderr.slice(done.stderr.indexOf(`To ${hub.endpoint}/me/sums, private:`))
  expect(listed).toMatch(/ {2}\d+ B {2}README[.]md\n.* {2}\d+ B {2}adapter_model[.]safetensors\n/s)
  expect(listed).toContain('Base model: some/model. Licence: none stated.')
  expect(listed).toContain('The licence of the base model is not known')
  expect(linesOf(done.stdout).at(-1)).toEqual({
    repo: 'me/sums',
    url: `${hub.endpoint}/me/sums`,
    commit: expect.any(String) as string,
    isPublic: false,
  })
  const card = hub.repositories.get('me/sums')?.files.get('README.md')?.toString()
  expect(card).toContain('base_model: some/model\nlibrary_name: peft\n')
  expect(card).toContain('The licence of the base model is not known.')
})

test('an adapter whose base is gone has a card and a report that lists its files', async () => {
  const asked = ['export', fixture.checkpoint, '--format', 'peft', '--out', 'alone'] as const
  const done = await place.run(...asked, ...pushing('me/alone'), '--trust-keys')
  expect(done.status, done.stderr).toBe(0)
  expectSent('me/alone', place.path('alone'))
  expect(readFileSync(place.path('alone/README.md'), 'utf8')).toContain('is not stated here')
})

test('what could not be sent is sent later from its folder, without another export', async () => {
  hub.faults.set('store', { status: 503 })
  const options = [...pushing('me/whole'), '--public', '--trust-keys'] as const
  const lost = await place.run(...exporting('whole', 'merged'), ...options)
  expect(lost.status).toBe(1)
  expect(lost.stderr).toContain(`The export in ${place.path('whole')} is whole.`)
  expect(lost.stderr).toContain(
    `turnwise export ${place.path('whole')} --push me/whole --public --endpoint ${hub.endpoint}`,
  )
  hub.faults.clear()
  process.env['HF_ENDPOINT'] = hub.endpoint
  const done = await place.run('export', 'whole', '--push', 'me/whole', '--public')
  Reflect.deleteProperty(process.env, 'HF_ENDPOINT')
  expect(done.stdout).toMatch(/^Sent \d+ files to .*me\/whole, public[.]\n$/)
  expectSent('me/whole', place.path('whole'))
  expect(hub.repositories.get('me/whole')?.isPrivate).toBe(false)
})

test('options that go together are asked for', async () => {
  const alone = await place.run('export', fixture.checkpoint, '--format', 'peft')
  expect([alone.status, alone.stderr]).toEqual([
    2,
    expect.stringContaining('--format and --out are required'),
  ])
  const lonely = await place.run(...exporting('lonely'), '--public')
  expect([lonely.status, lonely.stderr]).toEqual([2, expect.stringContaining('need --push')])
  const named = await place.run(...exporting('named'), '--push', 'sums', '--trust-keys')
  expect([named.status, named.stderr]).toEqual([2, expect.stringContaining('Give OWNER/NAME')])
})

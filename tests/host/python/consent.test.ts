/** Every way to a Python process is closed to a config alone: what would run is a program that leaves a mark. */
import type { RunConfigInput } from '#shared/runConfig.ts'
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Client } from '#shared/api/client.ts'
import type { Api } from '#shared/api/api.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import { train } from '../../../src/library/turnwise.ts'
import { scoringJob } from '#host/jobs/textScoring.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { allowPython, requireConsent, reviewPython } from '#host/python/consent.ts'
import { reviewServers } from '#host/python/mcpServers.ts'
import { openPython, packagedCode } from '#host/python/pythonCode.ts'
import { reviewConfig } from '#host/code/rewardCode.ts'
import { resolveEnvironment } from '#host/code/resolveEnvironment.ts'
import { resolveRewards } from '#host/code/resolveRewards.ts'
import { createRunFolder } from '#host/workFolder/runFolder.ts'
import { queueRun } from '#host/runs/sealedRuns.ts'
import { collect, createHostFixture, smallConfig, type HostFixture } from '../api/hostFixture.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { createWorkplace } from '../../cli/turnwise.ts'

const all = temporaryFolder()
const mark = path.join(all, 'it-ran')
/** As a project that somebody sent brings it: code, and an interpreter of its own. */
const project = path.join(all, 'project')
const program = path.join(project, 'python')
const code = 'def score(completions):\n    return [1.0 for _ in completions]\n'
const file = path.join(project, 'rewards.py')
mkdirSync(project)
writeFileSync(file, code)
writeFileSync(program, `#!/bin/sh\ntouch '${mark}'\nexec sleep 1\n`)
chmodSync(program, 0o755)

const source = { code, language: 'py', file } as const
const refused = {
  code: 'python/not-allowed',
  message: expect.stringContaining(`${file} is Python, which is not sandboxed`) as string,
  hint: expect.stringContaining('No Python was started.') as string,
  command: expect.stringContaining(`turnwise python allow ${file}`) as string,
}
const rewards = [{ function: `${file}#score` }]
const strange = { ...smallConfig, python: { interpreter: program }, rewards } as typeof smallConfig
const environment = { function: `${file}#World` }
const played = {
  ...smallConfig,
  python: { interpreter: program },
  rewards: [],
  environment,
  data: { train: { episodes: 4 } },
} as typeof smallConfig

/** Nothing of the strange project was executed. */
const expectNothingRan = () => expect(existsSync(mark)).toBe(false)

describe('a config that nobody allowed starts no Python', () => {
  let fixture: HostFixture
  let client: Client<Api>
  let version: string
  beforeAll(async () => {
    fixture = createHostFixture()
    ;({ client } = fixture)
    const rows = fixture.write('rows.jsonl', '{"prompt":"Say 4","answer":"4"}\n'.repeat(4))
    const imported = await collect(client.stream('datasets.import', { source: { path: rows }, name: 'rows' }))
    version = JSON.stringify(imported).match(/[0-9a-f]{64}/)?.[0] ?? ''
  })
  afterAll(() => fixture[Symbol.asyncDispose]())

  const form = { column: 'prompt' }
  const given = { python: `${file}#score`, interpreter: program }
  const doors: readonly [string, () => Promise<unknown>][] = [
    ['runs.start', () => client.call('runs.start', { config: strange })],
    ['runs.start of an environment', () => client.call('runs.start', { config: played })],
    ['runs.start into the queue', () => client.call('runs.start', { config: strange, queue: true })],
    ['runs.calibrate', () => collect(client.stream('runs.calibrate', { config: strange }))],
    [
      'runs.exportProject',
      () =>
        client.call('runs.exportProject', {
          source: { config: strange },
          tool: 'trl',
          path: path.join(all, 'exported'),
        }),
    ],
    [
      'evaluations.start',
      () =>
        client.call('evaluations.start', {
          subject: { model: strange.model, adapter: null },
          config: { data: strange.data, python: { interpreter: program }, rewards },
        }),
    ],
    [
      'datasets.difficulty',
      () =>
        collect(
          client.stream('datasets.difficulty', {
            versionId: version,
            prompt: form,
            model: strange.model,
            rewards,
            interpreter: program,
          }),
        ),
    ],
    [
      'rewards.dryRun',
      () =>
        collect(
          client.stream('rewards.dryRun', { code: given, on: [{ prompt: 'a', completion: 'b', row: {} }] }),
        ),
    ],
    ['rewards.check', () => client.call('rewards.check', { code: given })],
    [
      'rewards.battery',
      () => client.call('rewards.battery', { code: given, on: { versionId: version, prompt: form } }),
    ],
    ['rewards.play', () => client.call('rewards.play', { code: { ...given, python: `${file}#World` } })],
  ]
  test.each(doors)('%s', async (_, knock) => {
    await expect(knock()).rejects.toMatchObject(refused)
    expectNothingRan()
  })

  test('runs.check says so as a problem', async () => {
    const answer = await client.call('runs.check', { config: strange })
    expect(JSON.stringify(answer)).toContain('is Python, which is not sandboxed')
    expectNothingRan()
  })

  test('looking at what would run starts nothing and allows nothing', async () => {
    const asked = { functions: [`${file}#score`, 'exact-match'], interpreter: program }
    const review = await client.call('python.review', asked)
    // The program lies there too, and is no less of the stranger's.
    const files = [file, `interpreter:${program}`].map((each) => ({ path: each, isAllowed: false }))
    expect(review).toMatchObject([{ interpreter: program, files }])
    expectNothingRan()
    expect(await client.call('python.allowed')).toEqual([])
  })

  test.each(['runs.resume', 'the queue'])('%s of a run that lies in the folder', async (way) => {
    const run = createRunFolder(fixture.directory, parseRunConfig(strange))
    fixture.host.history.lookAround()
    fixture.host.history.refresh(fixture.host.history.add(run))
    if (way === 'the queue') {
      queueRun(fixture.host.store, run.id, { continueOnError: true })
      fixture.host.queue.advance()
    } else await client.call('runs.resume', { runId: run.id })
    const { error } = await fixture.reached(run.id, 'failed')
    expect(error).toMatchObject({ code: refused.code, message: refused.message })
    expectNothingRan()
  })

  test('runs.fork that changes to Python', async () => {
    const parent = await fixture.start({ steps: 2 })
    await fixture.reached(parent, 'finished')
    await fixture.left()
    const changes = { rewards, 'python.interpreter': program, steps: 4 }
    const { runId } = await client.call('runs.fork', { runId: parent, step: 2, changes })
    const { error } = await fixture.reached(runId, 'failed')
    expect(error).toMatchObject({ code: refused.code, message: refused.message })
    expectNothingRan()
  })

  test('a text scored by the rewards of a run', async () => {
    const scoring = {
      config: parseRunConfig(strange),
      runDirectory: all,
      cacheDirectory: all,
      consents: consentsFile(fixture.directory),
      input: { prompt: '', completion: '', row: {}, step: 0 },
    }
    const { signal } = new AbortController()
    await expect(collect(fixture.host.ask(scoringJob, scoring, signal))).rejects.toMatchObject({
      code: refused.code,
    })
    expectNothingRan()
  })

  test('a config cannot say that it is allowed', async () => {
    const config = { ...strange, python: { interpreter: program, trusted: true } } as typeof smallConfig
    await expect(client.call('runs.start', { config })).rejects.toMatchObject({ code: 'config/invalid' })
    await expect(client.call('settings.set', { key: 'host.python', value: true })).rejects.toMatchObject({
      code: 'api/refused',
    })
  })
})

describe('the command line and the library', () => {
  const place = createWorkplace()
  afterAll(() => place[Symbol.dispose]())
  const model = strange.model

  test('refuse with the command that allows it', async () => {
    const config = place.write('strange.json', strange)
    const script = place.write(
      'script.ts',
      `export const config = ${JSON.stringify(strange)}\nexport async function* train() {}\n`,
    )
    const ways = [
      ['train', config],
      ['run', script],
      ['evaluate', '--model', model, '--data', file.replace('rewards.py', 'rows.jsonl'), '--reward', file],
      ['dataset', 'import', `${file}#rows`],
      ['dataset', 'import', 'reasoning-gym:chain_sum'],
    ]
    writeFileSync(path.join(project, 'rows.jsonl'), '{"prompt":"Say 4","answer":"4"}\n')
    for (const words of ways) {
      const done = await place.run(...words)
      expect(done.stderr).toMatch(/is Python, which is not sandboxed.*No Python was started/s)
      expect(done.stderr).toContain('turnwise python allow ')
      expect(done.status).toBe(1)
    }
    expectNothingRan()
  })

  test('train of the library refuses too', async () => {
    const events = train(strange as object as RunConfigInput, {
      dataDirectory: mkdtempSync(path.join(all, 'home-')),
    })
    await expect(events.next()).rejects.toMatchObject(refused)
    expectNothingRan()
  })

  test.skipIf(process.platform === 'win32')(
    'show each name as it is before anything is allowed',
    async () => {
      const odd = path.join(all, 'a\u001b[2K\u202e.py')
      writeFileSync(odd, code)
      const config = place.write('named.json', { ...smallConfig, rewards: [{ function: odd }] })
      const denied = await place.run('train', config)
      expect(denied.stderr).toContain('a\\u{1b}[2K\\u{202e}.py is Python')
      expect(denied.stderr).toContain('python allow "$(printf ')
      const listed = await place.run('python', 'allow', odd, '--list', '--interpreter', program)
      expect(listed.stdout).toContain(`Run by ${program}:\n  Would be allowed  `)
      expect((await place.run('python', 'list')).stdout).not.toContain('.py')
      const trusting = place.write('trusting.json', {
        ...strange,
        rewards: [{ function: odd, settings: { times: 2 } }],
      })
      const trusted = await place.run('train', trusting, '--trust-python')
      expect(trusted.stderr).toContain(`Run by ${program}:\n  Trusted  `)
      expect(trusted.stderr).toMatch(/The config calls \S+\.py with \{"times":2\}/)
      for (const { stdout, stderr } of [denied, listed, trusted])
        expect(stdout + stderr).not.toMatch(/[\u001b\u202e]/)
      await place.run('python', 'withdraw')
      rmSync(mark, { force: true })
    },
  )

  test('show what a config calls, and how, in every command and also of what was allowed before', async () => {
    await place.run('python', 'allow', file, '--interpreter', program)
    const entry = { function: `${file}#score`, settings: { times: 3 } }
    const config = place.write('calls.json', { ...strange, rewards: [entry] })
    const reward = ['--reward', JSON.stringify(entry), '--trust-python', program]
    const rows = path.join(project, 'rows.jsonl')
    writeFileSync(rows, '{"prompt":"Say 4","answer":"4"}\n')
    const workflow = place.write('play.ts', 'export default async () => {}\n')
    for (const words of [
      ['train', config, '--check', '--trust-python'],
      ['evaluate', '--model', model, '--data', rows, ...reward],
      ['workflow', 'try', workflow, '--model', model, '--data', rows, ...reward],
    ]) {
      const { stderr } = await place.run(...words)
      expect(stderr).toContain(`The config calls ${file}#score with {"times":3}`)
    }
    await place.run('python', 'withdraw')
    rmSync(mark, { force: true })
  })

  test('python allow lets exactly this pass, list shows it, withdraw takes it back', async () => {
    const allowed = await place.run('python', 'allow', file, '--interpreter', program, '--json')
    expect(JSON.parse(allowed.stdout)).toMatchObject([
      { files: [{ path: file }, { path: `interpreter:${program}` }] },
    ])
    expect((await place.run('python', 'list')).stdout).toMatch(/run by[^]*python +\S*rewards\.py/)
    const consents = consentsFile(place.path('home'))
    expect(requireConsent(source, program, consents).interpreter).toBe(program)
    await place.run('python', 'withdraw')
    // A run's copy is allowed as what its config names.
    const copy = place.write('0-rewards.py', code)
    await place.run('python', 'allow', copy, '--as', file, '--interpreter', program)
    expect(requireConsent({ ...source, copy }, program, consents).interpreter).toBe(program)
    expect((await place.run('python', 'allow', copy, file, '--as', file)).status).toBe(2)
    await place.run('python', 'withdraw')
    expect(() => requireConsent(source, program, consents)).toThrow(expect.objectContaining(refused) as Error)
    expectNothingRan()
  })
})

test('what was allowed as something else is no consent to a file that a config names without its place', () => {
  const consents = consentsFile(mkdtempSync(path.join(all, 'machine-')))
  const sha256 = createHash('sha256').update(code).digest('hex')
  for (const name of [
    'mcp:/srv/server.py',
    'turnwise:trl/ray_submit.py',
    `interpreter:${file}`,
    'rewards.py',
  ]) {
    const files = [name, `interpreter:${program}`].map((each) => ({ path: each, sha256, isAllowed: false }))
    allowPython([{ interpreter: program, files }], consents)
    expect(() => requireConsent({ ...source, file: name }, program, consents)).toThrow('is no absolute path')
    expect(() => reviewPython({ ...source, file: name }, program, consents)).toThrow('is no absolute path')
  }
  const servers = { code: '{}', language: 'json', file: 'tools.json' } as const
  expect(() => reviewServers(servers, consents)).toThrow('is no absolute path')
  expectNothingRan()
})

test('a copy that a run brings is named where it differs from the file, and none stands for a package', () => {
  const run = mkdtempSync(path.join(all, 'run-'))
  const folder = path.join(run, 'rewards')
  mkdirSync(folder)
  const copy = path.join(folder, 'environment.py')
  const reviewOf = (id: string) =>
    reviewConfig(parseRunConfig({ ...played, environment: { function: id } }), run, all)
  writeFileSync(copy, code)
  expect(reviewOf(`${file}#World`)[0]?.files[0]).not.toHaveProperty('copy')
  writeFileSync(copy, `${code}# and more\n`)
  expect(reviewOf(`${file}#World`)[0]?.files[0]).toMatchObject({ path: file, copy })
  const [own] = reviewOf('gymnasium:CartPole-v1')[0]?.files ?? []
  expect(own?.sha256).toBe(
    createHash('sha256')
      .update(packagedCode('gymnasium:CartPole-v1') ?? '')
      .digest('hex'),
  )
})

test('functions that open Python take no yes but that of the machine', async () => {
  const config = parseRunConfig(strange)
  const run = () => mkdtempSync(path.join(all, 'run-'))
  await expect(resolveRewards(config, run())).rejects.toMatchObject(refused)
  const place = { cacheDirectory: all, onRequest: () => {} }
  await expect(resolveEnvironment(parseRunConfig(played), run(), place)).rejects.toMatchObject(refused)
  const options = { interpreter: program, callSeconds: 1, messages: null, form: null, consents: null }
  await expect(openPython(source, options)).rejects.toMatchObject(refused)
  expectNothingRan()
  // With a yes it would run: the mark tells the truth.
  const consents = consentsFile(mkdtempSync(path.join(all, 'machine-')))
  allowPython([reviewPython(source, program, consents)], consents)
  await expect(openPython(source, { ...options, consents })).rejects.toMatchObject({
    code: 'sandbox/failed',
  })
  expect(existsSync(mark)).toBe(true)
  rmSync(mark)
})

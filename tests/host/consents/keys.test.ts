/** Values of environment variables go to an address only where the owner of the machine allowed it, whatever a config names. */
import { mkdirSync, mkdtempSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Api } from '#shared/api/api.ts'
import type { Client } from '#shared/api/client.ts'
import { configSections } from '#shared/config/fields.ts'
import { judgeSettings } from '#shared/config/judge.ts'
import { keyUsesOf } from '#shared/config/keyUses.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import { builtInEnvironments } from '#rl/environments/tasks/registry.ts'
import { consentsFile } from '#host/consents/consents.ts'
import {
  type AllowedKey,
  allowedKey,
  allowKeys,
  hiddenKey,
  withdrawKeys,
  keyHider,
} from '#host/consents/keys.ts'
import { clientOf } from '#host/hub/hub.ts'
import { Connection, problemOf } from '#host/remote/connection.ts'
import { storedMark } from '#shared/hub.ts'
import { hubAccess } from '#host/hub/hubFetching.ts'
import { createRunFolder } from '#host/workFolder/runFolder.ts'
import { collect, createHostFixture, smallConfig, type HostFixture } from '../api/hostFixture.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { createWorkplace } from '../../cli/turnwise.ts'

const all = temporaryFolder()
const variable = 'TURNWISE_TEST_SECRET'
const secret = 'value-of-the-variable'
/** What a stranger's server was sent. */
const heard: string[] = []
const stranger = createServer((request, response) => {
  heard.push(request.headers.authorization ?? '')
  response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"no"}}')
})
let origin: string

beforeAll(async () => {
  process.env[variable] = secret
  await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${String((stranger.address() as AddressInfo).port)}`
})
afterAll(() => {
  Reflect.deleteProperty(process.env, variable)
  stranger.close()
})
afterEach(() => heard.splice(0))

const isSent = () => heard.some((header) => header.includes(secret))
const judge = () => ({
  function: 'judge',
  settings: { address: `${origin}/v1`, keyVariable: variable, rubric: 'correctness', retries: 0 },
})
const judged = () => ({ ...smallConfig, rewards: [judge()] }) as typeof smallConfig
const served = () =>
  ({
    ...smallConfig,
    rollout: {
      ...smallConfig.rollout,
      server: {
        kind: 'vllm',
        url: [`${origin}/a`, `${origin}/b`],
        apiKeyVariable: variable,
        adapterFolder: path.join(all, 'adapters'),
        retries: 0,
      },
    },
  }) as typeof smallConfig
const refused = {
  code: 'key/not-allowed',
  message: expect.stringContaining(variable) as string,
  hint: expect.stringContaining('Nothing was sent.') as string,
}

describe('nothing is sent that nobody allowed', () => {
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

  const prompt = { column: 'prompt' }
  const doors: readonly [string, () => Promise<unknown>][] = [
    ['runs.start with a judge', () => client.call('runs.start', { config: judged() })],
    ['runs.start with a rollout server', () => client.call('runs.start', { config: served() })],
    ['runs.start into the queue', () => client.call('runs.start', { config: judged(), queue: true })],
    ['runs.calibrate', () => collect(client.stream('runs.calibrate', { config: judged() }))],
    [
      'runs.start of a stage',
      () =>
        client.call('runs.start', {
          config: {
            ...smallConfig,
            stages: [{ steps: 1 }, { steps: 1, rollout: served().rollout }],
          },
        }),
    ],
    [
      'evaluations.start',
      () =>
        client.call('evaluations.start', {
          subject: { model: smallConfig.model, adapter: null },
          config: { data: smallConfig.data, rewards: [judge()] },
        }),
    ],
    [
      'datasets.difficulty',
      () =>
        collect(
          client.stream('datasets.difficulty', {
            versionId: version,
            prompt,
            model: smallConfig.model,
            rewards: [judge()],
          }),
        ),
    ],
    [
      'datasets.answer',
      () =>
        collect(
          client.stream('datasets.answer', {
            versionId: version,
            prompt,
            name: 'answers',
            rows: 1,
            temperature: 0,
            maxNewTokens: 4,
            teacher: { address: `${origin}/v1`, keyVariable: variable },
          }),
        ),
    ],
    [
      'rewards.dryRun',
      () =>
        collect(
          client.stream('rewards.dryRun', {
            code: { builtIn: 'judge' },
            settings: judge().settings,
            on: [{ prompt: 'a', completion: 'b', row: {} }],
          }),
        ),
    ],
  ]
  test.each(doors)('%s', async (_, knock) => {
    await expect(knock()).rejects.toMatchObject(refused)
    expect(isSent()).toBe(false)
  })

  test('runs.check says so as a problem, with what to allow', async () => {
    const answer = await client.call('runs.check', { config: judged() })
    expect(answer).toMatchObject({ problems: [{ keys: [{ variable, origin }] }] })
    expect(isSent()).toBe(false)
  })

  test.each([
    ['a judge', judged],
    ['a rollout server', served],
  ])('runs.resume of a run with %s that lies in the folder', async (_, config) => {
    const run = createRunFolder(fixture.directory, parseRunConfig(config()))
    fixture.host.history.lookAround()
    fixture.host.history.refresh(fixture.host.history.add(run))
    await client.call('runs.resume', { runId: run.id })
    const { error } = await fixture.reached(run.id, 'failed')
    expect(error).toMatchObject({ code: refused.code, message: refused.message })
    expect(isSent()).toBe(false)
    expect(await client.call('keys.missing', { runId: run.id })).toEqual([{ variable, origin }])
  })

  test('what was allowed is sent there and nowhere else, until it is withdrawn', async () => {
    const dryRun = (settings: object) =>
      collect(
        client.stream('rewards.dryRun', {
          code: { builtIn: 'judge' },
          settings: { ...judge().settings, ...settings },
          on: [{ prompt: 'a', completion: 'b', row: {} }],
        }),
      )
    await client.call('keys.allow', { keys: [{ variable, origin }] })
    expect(await client.call('keys.allowed')).toMatchObject([{ variable, origin }])
    await dryRun({}).catch(() => undefined)
    expect(isSent()).toBe(true)
    heard.splice(0)
    await expect(dryRun({ address: origin.replace('127.0.0.1', 'localhost') })).rejects.toMatchObject(refused)
    await expect(dryRun({ keyVariable: 'PATH' })).rejects.toMatchObject({ code: refused.code })
    await client.call('keys.withdraw', { keys: [{ variable, origin }] })
    await expect(dryRun({})).rejects.toMatchObject(refused)
    expect(heard).toEqual([])
  })

  test('an allowed server that sends on to another does not get the key there', async () => {
    const other = createServer((request, response) => {
      response.writeHead(307, { location: `${origin}${request.url ?? ''}` }).end()
    })
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const first = `http://127.0.0.1:${String((other.address() as AddressInfo).port)}`
    await client.call('keys.allow', { keys: [{ variable, origin: first }] })
    const trial = client.stream('rewards.dryRun', {
      code: { builtIn: 'judge' },
      settings: { ...judge().settings, address: `${first}/v1` },
      on: [{ prompt: 'a', completion: 'b', row: {} }],
    })
    await collect(trial).catch(() => undefined)
    expect(heard).toEqual([])
    other.close()
  })

  test('hub.push sends no token and asks nobody before it was allowed, wherever the hub is', async () => {
    const before = process.env['HF_TOKEN']
    process.env['HF_TOKEN'] = secret
    const directory = path.join(fixture.directory, 'an-export')
    const files = ['README.md', 'parity.json']
    mkdirSync(directory)
    fixture.write('an-export/README.md', '---\nlibrary_name: peft\n---\n')
    fixture.write('an-export/parity.json', JSON.stringify({ passed: true, files }))
    const push = () => collect(client.stream('hub.push', { directory, repo: 'me/sums' }))
    await client.call('settings.set', { key: 'hub.endpoint', value: origin })
    await client.call('settings.set', { key: 'hub.token', value: secret })
    const keys = [{ variable: 'HF_TOKEN', origin }]
    await expect(push()).rejects.toMatchObject({ code: refused.code, keys })
    expect(heard).toEqual([])
    await client.call('keys.allow', { keys })
    await expect(push()).rejects.toMatchObject({
      hint: expect.stringContaining('Nothing was sent.') as string,
    })
    expect(isSent()).toBe(true)
    await client.call('keys.withdraw', { keys })
    await client.call('settings.set', { key: 'hub.endpoint', value: null })
    if (before === undefined) Reflect.deleteProperty(process.env, 'HF_TOKEN')
    else process.env['HF_TOKEN'] = before
  })

  test('a token of the environment is for the hub named with it, and for the usual one', async () => {
    const set = (value: unknown) => client.call('settings.set', { key: 'hub.endpoint', value })
    const { signal } = new AbortController()
    const tokenFor = (given: { endpoint?: string }) =>
      hubAccess(fixture.host, signal, { ...given, token: 'hf_secret' }).token
    await set(origin)
    expect(tokenFor({})).toBeNull()
    expect(tokenFor({ endpoint: origin })).toBe('hf_secret')
    await set(null)
    expect(tokenFor({})).toBe('hf_secret')
  })

  test('a hub’s token is forgotten where the hub becomes another', async () => {
    const set = (key: string, value: unknown) => client.call('settings.set', { key, value })
    await set('hub.endpoint', 'https://hub.example/')
    await set('hub.token', 'hf_secret')
    await set('hub.endpoint', 'https://hub.example')
    expect(fixture.host.store.settings.get('hub.token')).toMatchObject({ token: 'hf_secret' })
    // No client is told it, and what stands for it does not take its place.
    expect(await client.call('settings.get', { key: 'hub.token' })).toBe(storedMark)
    expect(await client.call('settings.all')).toMatchObject({ 'hub.token': storedMark })
    await set('hub.token', storedMark)
    expect(fixture.host.store.settings.get('hub.token')).toMatchObject({ token: 'hf_secret' })
    await set('hub.endpoint', origin)
    expect(await client.call('settings.get', { key: 'hub.token' })).toBe(null)
  })

  test('a hub’s token goes nowhere but where it was stored for, whatever changed the address', async () => {
    const { store } = fixture.host
    const set = (key: string, value: unknown) => client.call('settings.set', { key, value })
    const tokenNow = () => hubAccess(fixture.host, new AbortController().signal).token
    await set('hub.endpoint', 'https://hub.example')
    await set('hub.token', 'hf_secret')
    expect(tokenNow()).toBe('hf_secret')
    store.settings.set('hub.endpoint', 'https://hub.example/behind')
    expect(tokenNow()).toBe('hf_secret')
    store.settings.set('hub.endpoint', origin)
    expect(tokenNow()).toBe(null)
    // One without an origin is for no hub: nobody knows which it was given for.
    store.settings.set('hub.token', 'hf_secret')
    expect(tokenNow()).toBe(null)
    await set('hub.endpoint', null)
  })
})

describe('a key that a server sends back', () => {
  const key = 'sk-proj/aou+"quoted"-0123456789'
  const header = `Bearer ${key}`
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const escaped = key.replaceAll(/./g, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`)
  const forms: readonly [string, string][] = [
    ['as it is', JSON.stringify(key)],
    ['as the header', JSON.stringify(`you sent “${header}”`)],
    ['with escapes', `"${escaped}"`],
    ['in base64', JSON.stringify(base64(key))],
    ['in base64 without its end', JSON.stringify(base64(header).replace(/=+$/, ''))],
    ['in base64 for addresses', JSON.stringify(Buffer.from(key).toString('base64url'))],
    ['with one letter escaped, in no message', `{"foo":"\\u0073${JSON.stringify(key).slice(2, -1)}"}`],
    ['in base64 behind a letter', JSON.stringify(base64(`x${key}`))],
    ['in an address in small letters', JSON.stringify(encodeURIComponent(key).toLowerCase())],
    ['in an address', JSON.stringify(`https://a.example/?key=${encodeURIComponent(key)}`)],
  ]
  const isTold = (text: string) =>
    [
      key,
      JSON.stringify(key).slice(1, -1),
      base64(key).replace(/=+$/, ''),
      base64(header).replace(/=+$/, ''),
    ].some((form) => text.includes(form)) || text.includes(Buffer.from(key).toString('base64url'))

  async function answeredBy(said: string, status: number, type = 'application/json') {
    const server = createServer((_, response) =>
      response.writeHead(status, { 'content-type': type }).end(said),
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`
    return { url, [Symbol.dispose]: () => void server.close() }
  }

  test.each(forms)('is in no text of it, %s', async (_, said) => {
    for (const status of [200, 400, 500]) {
      using server = await answeredBy(`{"error":{"message":${said}},"list":[${said}]}`, status)
      const words = { server: 'The server', keyHint: '', addressHint: '', kindHint: '' }
      using connection = new Connection({
        url: server.url,
        timeoutSeconds: 10,
        retries: 0,
        maxConcurrent: 1,
        words,
        apiKey: key as AllowedKey,
        onRequest: () => undefined,
      })
      const told = await connection.ask({ method: 'GET', path: '/' }).then(
        (answer) =>
          JSON.stringify(answer.json) + problemOf(answer) + answer.text.replaceAll(escaped, hiddenKey),
        (error: unknown) => (error instanceof Error ? error.message : ''),
      )
      expect(told).toContain(hiddenKey)
      expect(isTold(told)).toBe(false)
    }
  })

  test('is not in what a hub says of a model', async () => {
    using server = await answeredBy(JSON.stringify([{ id: `a/${key}`, note: header }]), 200)
    const { fetch: ask } = clientOf({
      endpoint: server.url,
      token: key,
      onRequest: () => undefined,
      signal: new AbortController().signal,
    })
    const told = await (await ask(`${server.url}/api/models`, undefined)).text()
    expect(JSON.parse(told)).toEqual([{ id: `a/${hiddenKey}`, note: hiddenKey }])
  })

  test('that is short hides nothing but the header', () => {
    expect(keyHider('5')('5 of 15, Bearer 5')).toBe(`5 of 15, ${hiddenKey}`)
    expect(keyHider('5', '5')('5 of 15')).toBe('5 of 15')
    expect(keyHider('abc1', 'abc1')('abc1 of 15')).toBe(`${hiddenKey} of 15`)
  })
})

describe('the command line', () => {
  const place = createWorkplace()
  afterAll(() => place[Symbol.dispose]())

  test('refuses with the command that allows it, allows, lists and withdraws', async () => {
    const config = place.write('judged.json', judged())
    const denied = await place.run('train', config)
    expect([denied.status, denied.stderr]).toEqual([
      1,
      expect.stringContaining(`turnwise key allow ${variable}@${origin}`),
    ])
    expect((await place.run('key', 'allow', variable)).status).toBe(2)
    expect((await place.run('key', 'allow', `${variable}@${origin}/v1`)).status).toBe(0)
    expect((await place.run('key', 'list')).stdout).toContain(origin)
    expect((await place.run('key', 'withdraw', `${variable}@${origin}`)).stdout).toContain(
      'Withdrew 1 consent',
    )
    expect((await place.run('key', 'list')).stdout).toContain('No key may be sent')
    expect(isSent()).toBe(false)
    const allowed = await place.run('train', config, '--trust-keys')
    expect(allowed.stderr).toContain('lists no models')
    expect(isSent()).toBe(true)
  })
})

describe('a consent', () => {
  const machine = () => consentsFile(mkdtempSync(path.join(all, 'machine-')))
  const environment = { [variable]: secret }
  const named = (address: string) => ({ variable, address, who: 'judge' })

  test('is to one variable and one origin, on this machine', () => {
    const consents = machine()
    allowKeys([{ variable, origin: 'https://judge.example' }], consents)
    const at = (address: string, where: string | null = consents) =>
      allowedKey(named(address), { consents: where, environment })
    expect(at('https://judge.example/v1')).toBe(secret)
    for (const other of ['http://judge.example', 'https://judge.example:444', 'https://x.judge.example'])
      expect(() => at(other)).toThrow(expect.objectContaining({ code: refused.code }) as Error)
    expect(() => at('https://judge.example', machine())).toThrow('has not been allowed')
    expect(() => at('https://judge.example', null)).toThrow('has not been allowed')
    // What every object has is no variable.
    for (const inherited of ['constructor', '__proto__']) {
      const place = { consents: machine(), environment }
      allowKeys([{ variable: inherited, origin: 'https://judge.example' }], place.consents)
      const asked = { ...named('https://judge.example'), variable: inherited }
      expect(() => allowedKey(asked, place)).toThrow('no such environment variable')
    }
    // No request can be made there, so no key is asked for.
    for (const none of ['file:///etc/passwd', 'https://judge.example@evil.example/v1'])
      expect(at(none)).toBeNull()
    expect(withdrawKeys(null, consents)).toBe(1)
    expect(() => at('https://judge.example')).toThrow('has not been allowed')
  })

  test('is asked for of every variable and every address that a config can name', () => {
    const names = (words: readonly string[]) =>
      words.filter((word) => /variable|address|url|endpoint|host/i.test(word))
    const keys = configSections.flatMap(({ fields }) => fields.map(({ key }) => key))
    // A new one must be added to keyUses.ts, or here with the reason why no key goes there.
    const withKeys = ['rollout', 'reference'].flatMap((section) => [
      `${section}.server.apiKeyVariable`,
      `${section}.server.url`,
    ])
    const withoutKeys = [
      'data.templateVariables', // of chat templates, not of the environment
      'engine.address', // a cluster of Ray, which takes none and is asked about with its command
    ]
    expect(names(keys).sort()).toEqual([...withKeys, ...withoutKeys].sort())
    expect(names(Object.keys(judgeSettings)).sort()).toEqual(['address', 'keyVariable'])
    // Of the search environment, whose servers take no key.
    expect(builtInEnvironments.flatMap(({ settings }) => names(Object.keys(settings)))).toEqual(['url'])
    const both = parseRunConfig({ ...served(), rewards: [judge()] })
    expect(keyUsesOf(both)).toEqual([{ variable, origin }])
    const reference = { server: { kind: 'vllm', url: 'https://teacher.example', apiKeyVariable: variable } }
    expect(keyUsesOf(parseRunConfig({ ...served(), reference }))).toContainEqual({
      variable,
      origin: 'https://teacher.example',
    })
  })
})

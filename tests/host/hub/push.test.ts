/** Exports go to a hub whole, with the token for it alone, and every refusal says what is there. */
import { linkSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { f32ToWrite, writeSafetensors } from '#host/files/safetensors.ts'
import { frontMatter, licenseLines, licenseOfCard } from '#host/hub/card.ts'
import type { HubAccess } from '#host/hub/hub.ts'
import { outgoing, sending, type Outgoing } from '#host/export/outgoing.ts'
import { pushFiles } from '#host/hub/push.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { startPushHub, type Fault, type PushHub, type Step } from './pushHub.ts'

const all = temporaryFolder()
const token = 'hf_secret-of-the-person'
const repo = 'me/sums'
let hub: PushHub
let folder: string
let count = 0

const card = '---\nbase_model: some/base\nlicense: mit\nlibrary_name: transformers\n---\n# A model\n'
/** Larger than a chunk that is read at once, and no text. */
const weights = Buffer.from(Array.from({ length: 700_000 }, (_, at) => (at * 31 + (at >> 8)) & 255))

beforeEach(async () => {
  hub = await startPushHub()
  folder = path.join(all, String(++count))
  mkdirSync(path.join(folder, 'templates'), { recursive: true })
  const files = ['README.md', 'empty.bin', 'model.safetensors', 'parity.json', 'templates/tool.jinja']
  writeFileSync(path.join(folder, 'README.md'), card)
  writeFileSync(path.join(folder, 'empty.bin'), '')
  writeFileSync(path.join(folder, 'model.safetensors'), weights)
  writeFileSync(path.join(folder, 'templates/tool.jinja'), '{{ "é" }}')
  writeFileSync(path.join(folder, 'parity.json'), JSON.stringify({ passed: true, files }))
})
afterEach(() => hub[Symbol.asyncDispose]())

const accessTo = (signal = new AbortController().signal): HubAccess => ({
  endpoint: hub.endpoint,
  token,
  onRequest: () => undefined,
  signal,
})

async function push(options: { isPublic?: boolean; access?: HubAccess; name?: string } = {}) {
  const { isPublic = false, access = accessTo(), name = repo } = options
  const news = []
  for await (const each of pushFiles({ ...sending(outgoing(folder)), repo: name, isPublic }, access))
    news.push(each)
  return news.at(-1)
}

const sentFiles = () => Object.fromEntries(hub.repositories.get(repo)?.files ?? [])

describe('a push', () => {
  test('sends small and large files byte by byte, to a private repository, in one commit', async () => {
    writeFileSync(path.join(folder, 'notes.txt'), 'my own')
    expect(await push()).toEqual({
      result: { repo, url: `${hub.endpoint}/${repo}`, commit: 'f'.repeat(40), isPublic: false },
    })
    const { '.gitattributes': _, ...sent } = sentFiles()
    const names = outgoing(folder).files.map((file) => file.path)
    expect(Object.keys(sent).sort()).toEqual(names)
    for (const name of names)
      expect(sent[name]?.equals(readFileSync(path.join(folder, name))), name).toBe(true)
    expect(hub.repositories.get(repo)).toMatchObject({ isPrivate: true, commits: 1 })
  })

  test('gives the token to the hub alone, not to its storage', async () => {
    await push({ isPublic: true })
    expect(hub.repositories.get(repo)?.isPrivate).toBe(false)
    for (const { step, authorization } of hub.asked)
      expect([step, authorization]).toEqual([step, step === 'store' ? '' : `Bearer ${token}`])
    expect(hub.asked.filter(({ step }) => step === 'store').map(({ origin }) => origin)).toContain(
      hub.storage,
    )
  })

  test('sends a file in the parts that the storage asks for', async () => {
    hub.partBytes = 262_144
    await push()
    expect(sentFiles()['model.safetensors']?.equals(weights)).toBe(true)
    expect(hub.asked.filter(({ step }) => step === 'store')).toHaveLength(1 + 3)
  })

  test('tells how many bytes it has sent', async () => {
    const seen = Promise.withResolvers<undefined>()
    hub.hold = (step) => (step === 'commit' ? seen.promise : undefined)
    const listed = outgoing(folder)
    const told: object[] = []
    for await (const each of pushFiles({ ...sending(listed), repo, isPublic: false }, accessTo())) {
      told.push(each)
      if ('progress' in each && each.progress.phase === 'Sending' && each.progress.done >= weights.length)
        seen.resolve(undefined)
    }
    const progress = { phase: 'Sending', done: listed.sizeBytes, total: listed.sizeBytes, unit: 'bytes' }
    expect(told).toContainEqual({ progress })
  })

  test('goes on after a lost connection in the repository that is left empty, and sends no large file again', async () => {
    hub.faults.set('commit', { status: 503 })
    await expect(push()).rejects.toMatchObject({ message: expect.stringContaining('503') as string })
    hub.faults.clear()
    hub.asked.length = 0
    await push()
    expect(hub.asked.map(({ step }) => step)).toEqual(['create', 'look', 'preupload', 'batch', 'commit'])
    expect(sentFiles()['model.safetensors']?.equals(weights)).toBe(true)
  })

  test('is refused for another name than that of a repository, and asks nobody', async () => {
    for (const name of ['sums', 'me/sums@v1', 'me/../you', `${hub.endpoint}/me/sums`])
      await expect(push({ name })).rejects.toMatchObject({ code: 'usage/invalid' })
    expect(hub.asked).toEqual([])
  })
})

describe('what goes wrong says what the hub has, and that the export is whole', () => {
  const nothing = 'Nothing was sent.'
  const empty = 'The repository is empty: files come into it all together, at the end.'
  const cases: readonly (readonly [Step, Fault, code: string, message: string, has: string])[] = [
    ['create', { status: 401 }, 'api/refused', 'does not know the access token in HF_TOKEN', nothing],
    [
      'create',
      { status: 403, error: `no ${token}` },
      'api/refused',
      'may not write to me/sums. It says: “no •••”',
      nothing,
    ],
    ['create', { status: 404 }, 'api/refused', 'The hub has no place for me/sums', nothing],
    ['create', { status: 429 }, 'api/disconnected', 'too many requests', nothing],
    ['create', { status: 500 }, 'api/disconnected', 'status 500', nothing],
    ['look', 'lost', 'api/disconnected', 'connection was lost', nothing],
    [
      'preupload',
      { status: 400, error: '"license" must be one of' },
      'api/refused',
      '“"license" must be one of”',
      empty,
    ],
    ['batch', { status: 413 }, 'api/refused', 'takes no files that large', empty],
    ['store', { status: 403 }, 'api/refused', 'may not write', empty],
    ['store', { status: 503 }, 'api/disconnected', 'status 503', empty],
    ['store', 'lost', 'api/disconnected', 'connection was lost', empty],
    ['commit', { status: 409 }, 'api/refused', 'was changed meanwhile', 'but the repository is empty.'],
    ['commit', 'lost', 'api/disconnected', 'connection was lost', 'whether they are in the repository shows'],
  ]
  test.each(cases)('%s: %j', async (...[step, fault, code, message, has]) => {
    hub.faults.set(step, fault)
    await expect(push()).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message) as string,
      hint: expect.stringMatching(new RegExp(`${has}.* The export in ${folder} is whole[.]`)) as string,
      command: `turnwise export ${folder} --push me/sums --endpoint ${hub.endpoint}`,
    })
    expect(Object.keys(sentFiles()).filter((name) => name !== '.gitattributes')).toEqual([])
  })

  test.each(['create', 'look', 'preupload', 'batch', 'store', 'commit'] as const)(
    '%s: a redirect to another origin is not followed, with the token or without',
    async (step) => {
      await using other = await startPushHub()
      hub.faults.set(step, { to: `${other.endpoint}/api/repos/create` })
      await expect(push()).rejects.toMatchObject({
        code: 'api/refused',
        message: 'The hub sent a request on to another place, which was not followed.',
      })
      expect(other.asked).toEqual([])
    },
  )

  test('a repository with files, or one that is not as public as asked, stays as it is', async () => {
    await push()
    await expect(push()).rejects.toMatchObject({
      message: 'me/sums exists already and is not empty.',
      hint: expect.stringContaining('Nothing was sent.') as string,
    })
    const isPrivate = false
    hub.repositories.set(repo, { isPrivate, files: new Map(), commits: 0 })
    await expect(push()).rejects.toMatchObject({
      message: expect.stringContaining('not private as asked') as string,
    })
    expect(sentFiles()).toEqual({})
  })

  test('an error is not lost among the progress of other files', async () => {
    const names = Array.from({ length: 12 }, (_, at) => `part-${String(at)}.safetensors`)
    const files = ['README.md', 'parity.json', ...names]
    writeFileSync(path.join(folder, 'parity.json'), JSON.stringify({ passed: true, files }))
    for (let failing = 1; failing <= names.length; failing += 1) {
      for (const [at, name] of names.entries())
        writeFileSync(path.join(folder, name), `${String(failing)} ${String(at)}`)
      let stored = 0
      hub.hold = (step) => {
        if (step === 'store' && (stored += 1) === failing) hub.faults.set('store', { status: 503 })
      }
      await expect(push({ name: `me/sums-${String(failing)}` })).rejects.toMatchObject({
        message: expect.stringContaining('status 503') as string,
      })
      hub.faults.clear()
    }
  })

  test('a file that is cut short on the way is named as the reason', async () => {
    hub.hold = (step) => {
      if (step === 'batch') writeFileSync(path.join(folder, 'model.safetensors'), 'short')
    }
    await expect(push()).rejects.toMatchObject({
      code: 'file/unreadable',
      message: 'A file became shorter while it was read.',
      hint: `${empty} Export again into another folder, and push that.`,
    })
  })

  test('a push that is stopped while a file is on its way ends so, with nothing in the repository', async () => {
    const stop = new AbortController()
    hub.hold = (step) => {
      if (step !== 'store') return undefined
      stop.abort()
      return new Promise(() => undefined)
    }
    await expect(push({ access: accessTo(stop.signal) })).rejects.toMatchObject({
      code: 'api/cancelled',
      hint: expect.stringContaining(empty) as string,
    })
    expect(hub.repositories.get(repo)?.commits).toBe(0)
  })

  test('a storage that is not encrypted, or on this machine though the hub is not, gets nothing', async () => {
    const { fetch } = globalThis
    const asked: string[] = []
    // The far hub is the one here, by another name.
    globalThis.fetch = (input, init) => {
      const url = input as string
      asked.push(url)
      return fetch(url.replace('https://hub.example', hub.endpoint), init)
    }
    try {
      const access = { ...accessTo(), endpoint: 'https://hub.example' }
      await expect(push({ access })).rejects.toMatchObject({
        code: 'api/refused',
        message: `The hub wants files to be sent to ${hub.storage}, which is not safe.`,
      })
      expect(asked.every((url) => url.startsWith('https://hub.example/'))).toBe(true)
    } finally {
      globalThis.fetch = fetch
    }
  })
})

test.each([
  [{ name: 'apache-2.0', link: null }, 'license: apache-2.0\n'],
  [{ name: 'my terms: 1.0', link: 'LICENSE' }, 'license: other\nlicense_name: "my terms: 1.0"\n'],
  [
    { name: 'qwen-research', link: 'https://hub.example/LICENSE' },
    'license: other\nlicense_name: "qwen-research"\nlicense_link: "https://hub.example/LICENSE"\n',
  ],
])('a card states a licence in the words of a hub, and is read as it: %j', (license, lines) => {
  expect(licenseLines(license)).toBe(lines)
  expect(licenseOfCard(frontMatter(`---\n${lines}---\n`))?.name).toBe(license.name)
})

describe('what is sent', () => {
  const refusedWith = (message: string) =>
    expect.objectContaining({ message: expect.stringContaining(message) as string }) as Error
  const report = (content: object) => writeFileSync(path.join(folder, 'parity.json'), JSON.stringify(content))

  test('is what the export wrote, with what its card says', () => {
    expect(outgoing(folder)).toMatchObject({
      baseModel: 'some/base',
      license: 'mit',
      notes: [],
    } satisfies Partial<Outgoing>)
  })

  test('says that nobody knows the licence and the name of the base', () => {
    writeFileSync(path.join(folder, 'README.md'), '---\nlibrary_name: peft\n---\n')
    expect(outgoing(folder)).toMatchObject({ baseModel: null, license: null })
    expect(outgoing(folder).notes.join(' ')).toMatch(
      /licence of the base model is not known.*names no base model/,
    )
  })

  test.each(['../outside.txt', '/etc/hostname', 'a/../../outside.txt', '.ssh/id', 'a\\b'])(
    'is nothing outside of the folder or hidden: %s',
    (name) => {
      writeFileSync(path.join(all, 'outside.txt'), 'secret')
      report({ passed: true, files: ['README.md', 'parity.json', name] })
      expect(() => outgoing(folder)).toThrow(refusedWith('is no export whose report lists its files'))
    },
  )

  test('is nothing behind a link, also one that comes after the list was made', async () => {
    const file = path.join(folder, 'model.safetensors')
    const secret = path.join(all, 'secret.txt')
    writeFileSync(secret, 'secret')
    const listed = outgoing(folder)
    rmSync(file)
    symlinkSync(secret, file)
    expect(() => outgoing(folder)).toThrow(refusedWith('is a link, or no file'))
    const late = pushFiles({ ...sending(listed), repo, isPublic: false }, accessTo())
    await expect(late.next()).rejects.toMatchObject({ code: 'file/unreadable' })
    rmSync(file)
    rmSync(path.join(folder, 'templates'), { recursive: true })
    mkdirSync(path.join(all, 'elsewhere'), { recursive: true })
    writeFileSync(path.join(all, 'elsewhere/tool.jinja'), 'secret')
    symlinkSync(path.join(all, 'elsewhere'), path.join(folder, 'templates'))
    writeFileSync(file, weights)
    expect(() => outgoing(folder)).toThrow(refusedWith('is a link, or no file'))
    const behind = pushFiles({ ...sending(listed), repo, isPublic: false }, accessTo())
    await expect(behind.next()).rejects.toMatchObject({
      code: 'file/unreadable',
      message: expect.stringContaining('was exchanged after it was listed') as string,
    })
    expect(hub.asked).toEqual([])
  })

  test('is no file with a second name but weights, which the cache gives one', async () => {
    const [card, file] = [path.join(folder, 'README.md'), path.join(folder, 'model.safetensors')]
    const [secret, cached] = [path.join(all, 'second'), path.join(all, 'cached')]
    writeFileSync(secret, 'secret')
    for (const name of ['model.safetensors', 'empty.bin']) {
      rmSync(path.join(folder, name))
      linkSync(secret, path.join(folder, name))
      expect(() => outgoing(folder)).toThrow(refusedWith(`${name} is a file with a second name`))
      rmSync(path.join(folder, name))
      writeFileSync(path.join(folder, name), '')
    }
    await writeSafetensors(file, [f32ToWrite({ name: 'w', shape: [1], data: new Float32Array(1) })])
    linkSync(file, cached)
    expect(outgoing(folder).files).toHaveLength(5)
    linkSync(card, path.join(all, 'card'))
    expect(() => outgoing(folder)).toThrow(refusedWith('README.md is a file with a second name'))
  })

  test('is no export that failed, and no folder that is none', () => {
    report({ passed: false, files: ['README.md', 'parity.json'] })
    expect(() => outgoing(folder)).toThrow(refusedWith('differs from what was trained'))
    expect(() => outgoing(all)).toThrow(refusedWith('is no export'))
    report({ passed: true, files: ['README.md', 'parity.json'] })
    writeFileSync(path.join(folder, 'README.md'), '# Mine\n')
    expect(() => outgoing(folder)).toThrow(refusedWith('is no model card'))
  })
})

import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { HubPlace, HubAccess } from '#host/hub/hub.ts'
import type { HubProgress } from '#host/hub/fetchFiles.ts'
import { fetchModel, type ModelWanted } from '#host/hub/hubModel.ts'
import { licenseOf } from '#host/hub/license.ts'
import { hubIdOf, hubNoteOf } from '#host/models/modelLibrary.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import { isLarge, repo, startHub, type Fault, type LoopbackHub } from './loopbackHub.ts'

const home = mkdtempSync(path.join(tmpdir(), 'turnwise-hub-'))
const source = path.join(home, 'source')
let hub: LoopbackHub
let fault: Fault

beforeAll(async () => {
  await writeRandomModel(source, modelShapes['tiny-llama'], 1, 'F32')
  writeFileSync(path.join(source, 'README.md'), '---\nlicense: mit\nlicense_link: ./LICENSE.txt\n---\n')
  writeFileSync(path.join(source, 'LICENSE.txt'), 'Permission is hereby granted.\n')
  hub = await startHub(source)
  fault = hub.fault
})

afterAll(async () => {
  await hub[Symbol.asyncDispose]()
  rmSync(home, { recursive: true, force: true })
})

beforeEach(() => {
  Object.assign(fault, { cutAfter: null, lies: false })
  fault.asked.length = 0
  fault.tokens.clear()
})

let requests = 0
const access = (): HubAccess => ({
  endpoint: hub.endpoint,
  token: null,
  onRequest: () => (requests += 1),
  signal: new AbortController().signal,
})

const tiny: HubPlace = { kind: 'model', repo, revision: 'main' }

const whole: ModelWanted = { file: null, license: 'mit' }

async function fetchInto(name: string, model = tiny, wanted = whole): Promise<HubProgress[]> {
  const told: HubProgress[] = []
  for await (const progress of fetchModel(model, wanted, path.join(home, name), access())) told.push(progress)
  return told
}

describe('a model from a hub', () => {
  test('comes whole, file by file, without code, and is a model', async () => {
    requests = 0
    const told = await fetchInto('whole')
    expect(readdirSync(path.join(home, 'whole')).sort()).toEqual([...readdirSync(source), '.hub.json'].sort())
    expect(hubIdOf(path.join(home, 'whole'))).toBe(repo)
    for (const name of readdirSync(source)) {
      expect(readFileSync(path.join(home, 'whole', name)).equals(readFileSync(path.join(source, name)))).toBe(
        true,
      )
    }
    expect(openModelFolder(path.join(home, 'whole')).config.architecture).toBe('llama')
    expect(told.at(-1)?.doneBytes).toBe(told.at(-1)?.totalBytes)
    expect(requests).toBe(fault.asked.length)
    expect(requests).toBeGreaterThan(2)
  })

  test('has nothing in its folder that the hub does not list, whoever put it there', async () => {
    const elsewhere = path.join(home, 'elsewhere')
    const folder = path.join(home, 'planted')
    for (const each of [elsewhere, path.join(folder, 'additional_chat_templates')])
      mkdirSync(each, { recursive: true })
    writeFileSync(path.join(elsewhere, 'mine'), 'mine')
    symlinkSync(elsewhere, path.join(folder, 'images'))
    for (const name of [
      'chat_template.jinja',
      'additional_chat_templates/tool_use.jinja',
      'extra.safetensors',
      'model.safetensors.index.json',
      'LICENSE',
      '.fetched.json',
    ])
      writeFileSync(path.join(folder, name), '{"planted":true}')
    await fetchInto('planted')
    expect(readdirSync(folder).sort()).toEqual([...readdirSync(source), '.hub.json'].sort())
    expect(readFileSync(path.join(elsewhere, 'mine'), 'utf8')).toBe('mine')
  })

  test('is written through no link that is in the place of its folder, or within it', async () => {
    const victim = path.join(home, 'victim')
    mkdirSync(victim)
    writeFileSync(path.join(victim, 'config.json'), 'mine')
    symlinkSync(victim, path.join(home, 'linked'))
    await expect(fetchInto('linked')).rejects.toThrow('is a link, so nothing is written there')
    expect(readdirSync(victim)).toEqual(['config.json'])
    expect(readFileSync(path.join(victim, 'config.json'), 'utf8')).toBe('mine')
    mkdirSync(path.join(source, 'additional_chat_templates'))
    writeFileSync(path.join(source, 'additional_chat_templates', 'tool_use.jinja'), '{{ tools }}')
    mkdirSync(path.join(home, 'within'))
    symlinkSync(victim, path.join(home, 'within', 'additional_chat_templates'))
    try {
      await expect(fetchInto('within')).rejects.toThrow('is a link, so nothing is written there')
    } finally {
      rmSync(path.join(source, 'additional_chat_templates'), { recursive: true })
    }
    expect(readdirSync(victim)).toEqual(['config.json'])
  })

  const links =
    'is no file that a link has the name of, though its content is as stated, and waits for no pipe'
  test.skipIf(process.platform === 'win32')(links, async () => {
    const folder = path.join(home, 'named')
    mkdirSync(folder)
    symlinkSync(path.join(source, 'config.json'), path.join(folder, 'config.json'))
    await expect(fetchInto('named')).rejects.toThrow('config.json is a link, so nothing is written there')
    rmSync(path.join(folder, 'config.json'))
    execFileSync('mkfifo', [path.join(folder, 'config.json')])
    await expect(fetchInto('named')).rejects.toThrow('config.json is no file, so nothing is written there')
  })

  test('comes with the chat templates beside the usual one', async () => {
    const folder = path.join(source, 'additional_chat_templates')
    mkdirSync(folder)
    writeFileSync(path.join(folder, 'tool_use.jinja'), '{{ tools }}')
    writeFileSync(path.join(folder, 'run.py'), 'print()')
    try {
      await fetchInto('templates')
    } finally {
      rmSync(folder, { recursive: true })
    }
    expect(readdirSync(path.join(home, 'templates', 'additional_chat_templates'))).toEqual(['tool_use.jinja'])
  })

  test('comes only under the licence that was accepted, which is kept with it', async () => {
    for (const license of [null, 'apache-2.0']) {
      await expect(fetchInto('terms', tiny, { file: null, license })).rejects.toMatchObject({
        code: 'api/refused',
        message: expect.stringContaining('under the licence “mit”') as string,
      })
    }
    expect(existsSync(path.join(home, 'terms'))).toBe(false)
    expect(fault.asked.filter((line) => line.includes('.safetensors'))).toEqual([])
    const before = Date.now()
    await fetchInto('terms')
    const link = expect.stringMatching(/\/someone\/tiny\/blob\/c0ffee0*\/LICENSE[.]txt$/) as string
    const license = { name: 'mit', link, acceptedAt: expect.any(Number) as number }
    expect(licenseOf(path.join(home, 'terms'))).toEqual(license)
    expect(licenseOf(path.join(home, 'terms'))?.acceptedAt).toBeGreaterThanOrEqual(before)
    expect(hubNoteOf(path.join(home, 'terms'))).toEqual({
      id: repo,
      commit: 'c0ffee'.padEnd(40, '0'),
      license,
    })
    expect(readFileSync(path.join(home, 'terms', 'LICENSE.txt'), 'utf8')).toContain('hereby granted')
  })

  test('goes on where the connection was lost', async () => {
    fault.cutAfter = 2000
    await expect(fetchInto('resumed')).rejects.toMatchObject({ code: 'api/disconnected' })
    const part = readdirSync(path.join(home, 'resumed')).find((name) => name.endsWith('.part')) ?? ''
    const kept = readFileSync(path.join(home, 'resumed', part)).length
    expect(kept).toBeGreaterThan(0)
    fault.asked.length = 0
    await fetchInto('resumed')
    expect(fault.asked.some((line) => line.includes(`bytes=${kept}-`))).toBe(true)
    expect(openModelFolder(path.join(home, 'resumed')).config.architecture).toBe('llama')
  })

  test('is not asked for again where it is whole', async () => {
    await fetchInto('again')
    fault.asked.length = 0
    await fetchInto('again')
    // Only its card, which states the licence.
    expect(fault.asked.filter((line) => /\/resolve\/(?!\w+\/README)/.test(line))).toEqual([])
  })

  test('of other bytes than stated is refused and not kept', async () => {
    fault.lies = true
    await expect(fetchInto('lies')).rejects.toMatchObject({ code: 'model/invalid' })
    expect(readdirSync(path.join(home, 'lies')).filter(isLarge)).toEqual([])
    expect(readdirSync(path.join(home, 'lies')).filter((name) => name.endsWith('.part'))).toEqual([])
  })

  test('that is not there is named', async () => {
    await expect(fetchInto('none', { ...tiny, repo: 'someone/else' })).rejects.toMatchObject({
      code: 'model/invalid',
      message: expect.stringContaining('someone/else') as string,
    })
  })
})

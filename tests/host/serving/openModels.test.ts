import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import { jobStarter } from '#host/processes/job.ts'
import type { ServedModel, ServedPrompt, ServingSetup } from '#host/serving/servedProcess.ts'
import { TextProcesses } from '#host/models/textQuestion.ts'
import { OpenModels } from '#host/serving/openModels.ts'
import { eventually } from '../../eventually.ts'

const cacheDirectory = mkdtempSync(path.join(tmpdir(), 'turnwise-open-'))
const setup: ServingSetup = {
  directory: path.join(resourcesDirectory, 'starter'),
  base: null,
  precision: 'f32',
  device: { kind: null, threads: 1 },
  contextLength: null,
  maxRows: 4,
  cacheDirectory,
}

const texts = new TextProcesses()
/** What a question about a text waits for. */
let encoding: { readonly asked: () => void; readonly may: Promise<unknown> } | null = null

let started = 0
let changes = 0
const models = new OpenModels({
  startJob: (job, options) => {
    started++
    return jobStarter()(job, options)
  },
  environment: () => ({}),
  askText: async (question) => {
    encoding?.asked()
    await encoding?.may
    return texts.ask(question)
  },
  onChanged: () => {
    changes++
  },
})

afterEach(() => models.endIdle())
afterAll(() => {
  models[Symbol.dispose]()
  texts[Symbol.dispose]()
  rmSync(cacheDirectory, { recursive: true, force: true })
})

async function answered(model: ServedModel, prompt: ServedPrompt): Promise<string> {
  const filters = { topK: 0, topP: 1, minP: 0, repetitionPenalty: 1, stopStrings: [], topLogprobs: 0 }
  const sampling = { greedy: true, temperature: 1, minNewTokens: 0, maxNewTokens: 4, ...filters }
  const request = {
    adapter: null,
    prompts: [prompt],
    samples: 1,
    seed: 0,
    isStreamed: false,
    withTokens: false,
  }
  let text = ''
  for await (const news of model.complete({ ...request, sampling }, new AbortController().signal))
    if (news.type === 'piece') text += news.text
  return text
}

describe('open models', () => {
  test('are started once for all who ask, and end when nobody has used them for a while', async () => {
    const before = started
    const [one, other] = await Promise.all([1, 2].map(() => models.lease(setup, { idleMs: 150 })))
    expect(one!.model).toBe(other!.model)
    expect(started).toBe(before + 1)
    one![Symbol.dispose]()
    one![Symbol.dispose]()
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(models.state(setup)).toBe('open')
    other![Symbol.dispose]()
    expect(models.state(setup)).toBe('open')
    const again = await models.lease(setup, { idleMs: 150 })
    expect(again.model).toBe(one!.model)
    again[Symbol.dispose]()
    await again.model.ended
    expect(models.state(setup)).toBe('closed')
    expect(changes).toBeGreaterThan(2)
  })

  test('are not opened to the end when nobody waits any more', async () => {
    const leaving = new AbortController()
    const waiting = models.lease(setup, { idleMs: 60_000, signal: leaving.signal })
    expect(models.state(setup)).toBe('opening')
    leaving.abort()
    await expect(waiting).rejects.toThrow()
    expect(models.state(setup)).toBe('closed')
  })

  test('can be asked for again after they failed or died', async () => {
    const nowhere = { ...setup, directory: '/nowhere' }
    await expect(models.lease(nowhere, { idleMs: 0 })).rejects.toThrow()
    await eventually(() => expect(models.state(nowhere)).toBe('closed'))
    using first = await models.lease(setup, { idleMs: 60_000 })
    first.model[Symbol.dispose]()
    await first.model.ended
    await eventually(() => expect(models.state(setup)).toBe('closed'))
    using second = await models.lease(setup, { idleMs: 0 })
    expect(second.model).not.toBe(first.model)
  })

  test('answer others while a long prompt is encoded', async () => {
    using lease = await models.lease(setup, { idleMs: 0 })
    const [asked, may] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()]
    encoding = { asked: () => asked.resolve(undefined), may: may.promise }
    const long = answered(lease.model, { text: '1 + 2 '.repeat(50_000) })
    await asked.promise
    expect(await answered(lease.model, { text: '1 + 2 =' })).toMatch(/./)
    may.resolve(undefined)
    await expect(long).rejects.toThrow(/The prompt has \d{5,} tokens; the model reads/)
    encoding = null
    const short = { text: '1 + 2 =' }
    const [ids = []] = await texts.ask({ type: 'encode', directory: setup.directory, prompts: [short] })
    expect(await answered(lease.model, { ids })).toBe(await answered(lease.model, short))
  })
})

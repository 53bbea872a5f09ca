import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { hubIdOf } from '#host/models/modelLibrary.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import { startHub, type LoopbackHub } from '../host/hub/loopbackHub.ts'
import { createWorkplace, linesOf } from './turnwise.ts'

const place = createWorkplace()
let hub: LoopbackHub

beforeAll(async () => {
  const [model, data] = [place.path('hub-model'), place.path('hub-data')]
  await writeRandomModel(model, modelShapes['tiny-llama'], 1, 'F32')
  for (const name of ['main', 'extra']) {
    mkdirSync(path.join(data, name), { recursive: true })
    for (const at of [1, 0])
      writeFileSync(
        path.join(data, name, `train-0000${at}-of-00002.jsonl`),
        `${JSON.stringify({ question: `${name} ${at}`, answer: at })}\n`,
      )
  }
  writeFileSync(path.join(model, 'README.md'), '---\nlicense: mit\n---\n')
  hub = await startHub(model, data)
})

afterAll(async () => {
  await hub[Symbol.asyncDispose]()
  place[Symbol.dispose]()
})

beforeEach(() => {
  hub.fault.asked.length = 0
  hub.fault.tokens.clear()
})

const uploads = () => {
  const folder = place.path('home/uploads')
  return existsSync(folder) ? readdirSync(folder) : []
}

describe('from a hub', () => {
  test('a data set is imported by its id, all shards of the config that is asked for', async () => {
    const done = await place.run(
      'dataset',
      'import',
      'someone/rows',
      '--config',
      'main',
      '--endpoint',
      hub.endpoint,
      '--json',
    )
    expect([done.status, done.stderr]).toEqual([0, `Downloading someone/rows from ${hub.endpoint}.\n`])
    expect(linesOf(done.stdout)).toEqual([
      expect.objectContaining({
        name: 'rows-main-train',
        rows: 2,
        source: expect.objectContaining({
          path: expect.stringMatching(/^someone\/rows \(main, train\) at /) as string,
        }) as object,
      }),
    ])
    const shown = await place.run('dataset', 'show', 'rows-main-train', '--rows', '2', '--json')
    expect(linesOf(shown.stdout)[0]).toMatchObject({
      firstRows: [{ question: 'main 0' }, { question: 'main 1' }],
    })
    expect(uploads()).toEqual([])
  })

  test('a config that is not there is refused with those that are', async () => {
    const done = await place.run(
      'dataset',
      'import',
      'someone/rows',
      '--config',
      'x',
      '--endpoint',
      hub.endpoint,
    )
    expect(done.status).toBe(2)
    expect(done.stderr).toContain('someone/rows has no config “x”')
    expect(done.stderr).toContain('It has extra, main.')
  })

  test('a model goes on where its fetching was lost, and is imported', async () => {
    hub.fault.cutAfter = 2000
    const asking = ['model', 'import', 'someone/tiny@main', '--endpoint', hub.endpoint]
    const unasked = await place.run(...asking)
    expect([unasked.status, uploads()]).toEqual([2, []])
    expect(unasked.stderr).toContain('someone/tiny is under the licence mit:')
    expect(unasked.stderr).toContain('accept them with --accept-license mit.')
    const arguments_ = [...asking, '--accept-license', 'mit']
    const lost = await place.run(...arguments_)
    expect(lost.status).toBe(1)
    expect(lost.stderr).toContain('What was downloaded is kept.')
    expect(uploads()).toHaveLength(1)
    hub.fault.asked.length = 0
    const done = await place.run(...arguments_)
    expect([done.status, done.stdout]).toEqual([0, expect.stringContaining('Imported tiny: llama')])
    expect(hub.fault.asked.some((line) => /bytes=[1-9]\d*-/.test(line))).toBe(true)
    expect(uploads()).toEqual([])
    expect((await place.run('model', 'list')).stdout).toContain('tiny')
    expect(hubIdOf(place.path('home/models/tiny'))).toBe('someone/tiny')
  })

  test('the option that accepts a licence is one word, whatever the card calls it', async () => {
    const card = path.join(place.path('hub-model'), 'README.md')
    writeFileSync(card, '---\nlicense: other\nlicense_name: x $(id)\n---\n')
    const unasked = await place.run('model', 'import', 'someone/tiny', '--endpoint', hub.endpoint)
    expect(unasked.stderr).toContain("accept them with --accept-license 'x $(id)'.")
    writeFileSync(card, '---\nlicense: mit\n---\n')
  })

  test('models are searched for, and known ones listed without a request', async () => {
    const found = await place.run('model', 'search', 'tiny', '--endpoint', hub.endpoint)
    expect(found.stdout).toMatch(/someone\/tiny +20[.]0 K parameters +12345 +mit +safetensors +llama/)
    const none = await place.run('model', 'search', 'tiny', '--family', 'qwen3', '--endpoint', hub.endpoint)
    expect(none.stdout).toContain('The hub has no such model.')
    hub.fault.asked.length = 0
    const known = await place.run('model', 'list', '--known')
    expect(known.stdout).toMatch(/Qwen\/Qwen3-0[.]6B +596[.]0 M parameters +1[.]5 GB +40960/)
    expect(known.stdout).toContain('turnwise device measure')
    expect(hub.fault.asked).toEqual([])
  })

  test('paths of files are no addresses, and nobody is asked', async () => {
    const done = await place.run('dataset', 'import', 'sums/missing.jsonl', '--endpoint', hub.endpoint)
    expect([done.status, hub.fault.asked]).toEqual([1, []])
    const file = place.write('rows.csv', 'prompt\n1\n')
    const wrong = await place.run('dataset', 'import', file, '--split', 'train')
    expect(wrong.stderr).toContain('only for data sets on a hub')
  })
})

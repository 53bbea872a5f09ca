import { copyFileSync, cpSync, appendFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { computeManifest, manifestDifferences, readManifest } from '#host/runs/manifest.ts'
import { createHome, starterConfig } from './runFixture.ts'

const home = createHome()
afterAll(() => {
  home[Symbol.dispose]()
})

const inHome = (name: string) => path.join(home.directory, name)
cpSync(starterConfig.model, inHome('model'), { recursive: true })
copyFileSync(starterConfig.data.train, inHome('train.jsonl'))
writeFileSync(inHome('reward.ts'), 'export default () => 1\n')

const rewards = [{ function: 'starter-format', name: 'format' }, { function: inHome('reward.ts') }]
const settings = { ...starterConfig, model: inHome('model'), rewards }
const config = parseRunConfig({ ...settings, data: { ...settings.data, train: inHome('train.jsonl') } })

/** The manifest of a new run as the files are now. */
const manifestNow = (changed = config) =>
  computeManifest({
    config: changed,
    model: openModelFolder(inHome('model')),
    runDirectory: home.createRun(changed).directory,
    cacheDirectory: dataFolders(home.directory).cache,
  })

describe('the manifest of a run', () => {
  test('has a digest of everything that determines it', async () => {
    const manifest = await manifestNow()
    expect(manifest.app).toMatch(/^turnwise \d+\.\d+\.\d+, onnxruntime-node \d+\.\d+\.\d+, node \d+/)
    expect(Object.keys(manifest.data)).toEqual([config.data.train, config.data.heldOut])
    expect(Object.keys(manifest.rewards)).toEqual(['format', 'reward'])
    const digests = [
      manifest.config,
      manifest.model,
      ...Object.values(manifest.data),
      ...Object.values(manifest.rewards),
    ]
    expect(new Set(digests).size).toBe(6)
    for (const digest of digests) expect(digest).toMatch(/^[0-9a-f]{64}$/)
    expect(await manifestNow()).toEqual(manifest)
    expect(readManifest(JSON.parse(JSON.stringify(manifest)))).toEqual(manifest)
    expect(readManifest({ app: 'x' })).toBeNull()
  })

  test.each([
    ['The data', () => appendFileSync(inHome('train.jsonl'), '{"prompt": "1+1=", "answer": "2"}\n')],
    ['The model', () => appendFileSync(path.join(inHome('model'), 'tokenizer_config.json'), ' ')],
    ['The reward “reward”', () => writeFileSync(inHome('reward.ts'), 'export default () => 2\n')],
  ])('tells that one thing changed: %s', async (what, change) => {
    const before = await manifestNow()
    change()
    const [sentence, ...others] = manifestDifferences(before, await manifestNow())
    expect(sentence).toContain(what)
    expect(sentence).toContain('changed since this run began')
    expect(others).toEqual([])
  })

  test('tells settings of a reward apart, and the config', async () => {
    const before = await manifestNow()
    const now = await manifestNow({ ...config, steps: 31 })
    expect(manifestDifferences(before, now)).toEqual([
      expect.stringContaining('The config changed') as string,
    ])
    expect(manifestDifferences(null, now)).toEqual([])
  })
})

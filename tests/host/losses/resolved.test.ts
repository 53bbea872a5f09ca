/** Algorithms of a run whose code is a loss: they belong to who loaded them, and nobody else's lookup changes. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import { algorithmById } from '#rl/algorithms/registry.ts'
import { resolveAlgorithms } from '#host/code/resolveAlgorithms.ts'

test('two loads of one path do not see each other, and a lookup without code sees neither', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-algorithms-'))
  const file = path.join(folder, 'mine.js')
  const config = parseRunConfig({ model: 'm', data: { train: 't' }, algorithm: { id: file } })
  const write = (groupSize: number) =>
    writeFileSync(
      file,
      `export default defineLoss({ groupSize: ${groupSize}, loss: ({ logp, oldLogp, advantages, mask }) => -mean(exp(logp - oldLogp) * advantages, mask) })`,
    )
  write(4)
  await using first = await resolveAlgorithms(config, null)
  write(6)
  await using second = await resolveAlgorithms(config, null)
  const sizes = [first.byId, second.byId, algorithmById].map((byId) => byId(file).groupSize.default)
  expect(sizes).toEqual([4, 6, 8])
  expect(first.byId('grpo')).toBe(algorithmById('grpo'))
  rmSync(folder, { recursive: true })
})

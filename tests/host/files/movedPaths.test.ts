import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { asItLies, formerHome, keepFormerHome, moved } from '#host/files/movedPaths.ts'
import { runAlgorithmCode } from '#host/code/rewardCode.ts'
import { createRunFolder, readOwnConfig } from '#host/workFolder/runFolder.ts'
import { temporaryFolder } from './temporaryFolder.ts'

const root = temporaryFolder()

test('paths into the data directory lead where it lies now, all others stay', () => {
  const [old, now] = [path.resolve('/data/tw'), path.resolve('/mnt/$& "new"')]
  const at = (home: string) => ({
    model: path.join(home, 'models', 'm'),
    stages: [{ data: { train: path.join(home, 'datasets', 'd') } }, null, 3, true],
    digests: { [path.join(home, 'datasets', 'd')]: 'abc' },
  })
  const others = { beside: path.join(`${old}2`, 'x'), inText: `see ${path.join(old, 'x')}`, name: 'tw' }
  expect(moved({ ...at(old), ...others }, old, now)).toEqual({ ...at(now), ...others })
  expect(moved(at(old), null, now)).toEqual(at(old))
  expect(moved(path.join(old, 'models', 'm'), old, now)).toBe(path.join(now, 'models', 'm'))
})

test('a document says where it was written; one of an earlier version was written where the directory lay first', () => {
  const home = path.join(root, 'documents')
  const [folder, before] = [path.join(home, 'studies', 'st_1'), path.join(root, 'before')]
  mkdirSync(folder, { recursive: true })
  const document = { model: path.join(before, 'models', 'm') }
  const now = { model: path.join(home, 'models', 'm') }
  expect(asItLies({ ...document, home: before }, folder)).toMatchObject(now)
  expect(asItLies(document, folder)).toEqual(document)
  keepFormerHome(home, () => before)
  keepFormerHome(home, () => 'later')
  expect(formerHome(home)).toBe(before)
  expect(asItLies(document, folder)).toEqual(now)
  expect(asItLies({ ...document, home }, folder)).toMatchObject(document)
  expect(asItLies({ ...document, home: before }, path.join(root, 'somewhere', 'else'))).toMatchObject(
    document,
  )
})

test('a run keeps the config it began with and its copy of a loss where it was moved', () => {
  const [before, now] = [path.join(root, 'first'), path.join(root, 'second')]
  const lossIn = (home: string) => path.join(home, 'loss.ts')
  mkdirSync(before)
  writeFileSync(lossIn(before), 'as it was')
  const config = { model: path.join(before, 'models', 'm'), algorithm: { id: lossIn(before) } }
  const { id, directory } = createRunFolder(before, config)
  const written = readFileSync(path.join(directory, 'config.json'))
  expect(runAlgorithmCode(lossIn(before), directory).code).toBe('as it was')
  writeFileSync(lossIn(before), 'changed')
  renameSync(before, now)
  const folder = path.join(now, 'runs', id)
  expect(readOwnConfig(folder)).toEqual({
    model: path.join(now, 'models', 'm'),
    algorithm: { id: lossIn(now) },
  })
  expect(readFileSync(path.join(folder, 'config.json'))).toEqual(written)
  expect(runAlgorithmCode(lossIn(now), folder).code).toBe('as it was')
})

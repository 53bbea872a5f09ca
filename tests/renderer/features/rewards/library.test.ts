import { describe, expect, test } from 'vitest'
import {
  fileReference,
  findGalleryEntry,
  galleryKey,
  libraryGroups,
  libraryRoute,
  judgeKey,
  offeredRewards,
  versionNumber,
} from '#renderer/parts/rewardLibrary.ts'
import {
  chartName,
  choiceName,
  choiceOfVersion,
  moved,
  nameInRun,
  sourceOfChoice,
} from '#renderer/parts/rewardChoice.ts'
import { guessKind, startCode } from '#renderer/features/rewards/LibraryDialogs.tsx'
import type { GalleryEntry, Reward } from '#renderer/parts/rewardTypes.ts'

const id = 'rw_0192f0c1-2345-7abc-8def-0123456789ab'
const hash = 'a'.repeat(64)
const reward: Reward = { id, kind: 'reward', name: 'Sums', createdAt: 0, versions: 2 }
const entry = (code: string | null): GalleryEntry => ({
  id: 'exact-match',
  kind: 'reward',
  title: 'Exact match',
  description: 'd',
  language: code === null ? null : 'ts',
  code,
  settings: null,
  examples: [],
})

test('each reward is offered once, those of the sample apart', () => {
  const own = (id: string, title: string, code: string | null) => ({ ...entry(code), id, title })
  const gallery = [
    own('exact-match', 'exact-match', null),
    own('starter-correct', 'starter-correct', null),
    own('gallery-exact', 'Exact match', 'code'),
    own('brief', 'Brief', 'code'),
  ]
  const { builtIn, copies, ofSample } = offeredRewards(gallery)
  expect([builtIn, copies, ofSample].map((each) => each.map(({ id }) => id))).toEqual([
    ['exact-match'],
    ['brief'],
    ['starter-correct'],
  ])
})

test('files of the library are known on every system, others are not', () => {
  expect(fileReference(`/home/a/rewards/${id}/${hash}.ts`)).toEqual({ rewardId: id, hash, part: null })
  expect(fileReference(`C:\\data\\rewards\\${id}\\${hash}.js#format`)).toMatchObject({ part: 'format' })
  expect(fileReference('/somewhere/else.ts')).toBeNull()
  expect(fileReference('exact-match')).toBeNull()
})

test('each kind has its view, and the judge one of its own', () => {
  expect(libraryRoute('reward', 'rw_1')).toBe('/rewards/rw_1')
  expect(libraryRoute('environment', 'gallery.maze')).toBe('/rewards/environments/gallery.maze')
  expect(libraryRoute('loss', 'rw_1')).toBe('/rewards/losses/rw_1')
  expect(libraryRoute('workflow', 'rw_1')).toBe('/rewards/workflows/rw_1')
  expect(libraryRoute('reward', judgeKey)).toBe('/rewards/judges')
})

test('functions and code of one id have different addresses', () => {
  const gallery = [entry(null), entry('code')]
  expect(gallery.map(galleryKey)).toEqual(['builtin.exact-match', 'gallery.exact-match'])
  expect(findGalleryEntry('gallery.exact-match', gallery)?.code).toBe('code')
})

test('the list: one’s own, then what can be copied, then functions; filtered by words', () => {
  const rewards = [reward, { ...reward, id: `${id}2`, name: 'World' }]
  const titles = (filter: string) =>
    libraryGroups(rewards, [entry(null), entry('code')], filter).map(({ title, items }) => [
      title,
      items.length,
    ])
  expect(titles('')).toEqual([
    ['Yours', 2],
    ['Gallery: code to copy', 1],
    ['Built-in functions', 1],
  ])
  expect(titles('wor')).toEqual([['Yours', 1]])
})

test('versions are counted from the oldest', () => {
  const versions = [{ hash: 'c' }, { hash: 'b' }, { hash: 'a' }]
  expect([versionNumber(versions, 'a'), versionNumber(versions, 'c'), versionNumber(versions, 'x')]).toEqual([
    1,
    3,
    null,
  ])
})

describe('entries of a run config', () => {
  test('are found in the library, among the functions, or are a file', () => {
    const find = (name: string) => sourceOfChoice(name, [reward], [entry(null), entry('code')])
    expect(find(`/d/${id}/${hash}.ts#part`)).toEqual({ kind: 'own', reward, hash, part: 'part' })
    expect(find('exact-match')).toMatchObject({ kind: 'builtin', entry: { code: null } })
    expect(find('/mine.ts')).toEqual({ kind: 'file', path: '/mine.ts' })
    expect(sourceOfChoice(`/d/${id}/${hash}.ts`, [], [])).toMatchObject({ kind: 'file' })
  })

  test('have names for charts without slashes, none twice', () => {
    expect(chartName('Sums are right', [])).toBe('sums-are-right')
    expect(chartName('a/b', ['a-b'])).toBe('a-b-2')
    expect(choiceName({ function: '/x/y.ts#format' })).toBe('format')
    expect(choiceName({ function: '/x/y.ts' })).toBe('y')
    expect(choiceName({ function: 'exact-match', name: 'n' })).toBe('n')
  })

  test('name the part of a run that a reward was', () => {
    const config = {
      rewards: [{ function: 'exact-match' }, { function: `/d/${id}/${hash}.ts`, name: 'sums' }],
    }
    expect(nameInRun(JSON.stringify(config), id)).toBe('sums')
    expect(nameInRun('{}', id)).toBeNull()
    expect(choiceOfVersion({ file: '/d/x.ts' }, 'format')).toBe('/d/x.ts#format')
  })

  test('change places within the list', () => {
    expect(moved(['a', 'b', 'c'], 2, -1)).toEqual(['a', 'c', 'b'])
    expect(moved(['a', 'b'], 0, 1)).toEqual(['b', 'a'])
    expect(moved(['a', 'b'], 0, -1)).toEqual(['a', 'b'])
  })
})

test('code says of itself what it seems to be', () => {
  expect(guessKind(startCode.reward)).toBe('reward')
  expect(guessKind(startCode.environment)).toBe('environment')
  expect(guessKind(startCode.loss)).toBe('loss')
  expect(guessKind(startCode.workflow)).toBe('workflow')
})

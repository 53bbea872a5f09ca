import { describe, expect, test } from 'vitest'
import { readHubAddress, type HubKind } from '#host/hub/hub.ts'

const endpoint = 'https://hub.test'

describe('an address', () => {
  test.each<[HubKind, string, string, string]>([
    ['model', 'someone/tiny', 'someone/tiny', 'main'],
    ['model', ' https://hub.test/someone/tiny/ ', 'someone/tiny', 'main'],
    ['model', 'https://hub.test/someone/tiny/tree/v1.0', 'someone/tiny', 'v1.0'],
    ['model', 'someone/tiny@v1.0', 'someone/tiny', 'v1.0'],
    ['dataset', 'someone/rows', 'someone/rows', 'main'],
    ['dataset', 'datasets/someone/rows', 'someone/rows', 'main'],
    ['dataset', 'https://hub.test/datasets/someone/rows', 'someone/rows', 'main'],
    [
      'dataset',
      'https://hub.test/datasets/someone/rows/tree/refs/convert/parquet',
      'someone/rows',
      'refs/convert/parquet',
    ],
    ['dataset', 'someone/rows@refs/convert/parquet', 'someone/rows', 'refs/convert/parquet'],
    ['dataset', 'https://hub.test/datasets/someone/rows/viewer/main/train', 'someone/rows', 'main'],
  ])('of a %s: %s is %s at %s', (kind, text, repo, revision) => {
    expect(readHubAddress(text, endpoint, kind)).toEqual({ kind, repo, revision })
  })

  test.each([
    '',
    'tiny',
    'https://elsewhere.test/someone/tiny',
    'a/../b',
    'someone/tiny/blob/main/x',
    '../..',
    'someone/tiny@',
  ])('%s is none', (text) => {
    expect(() => readHubAddress(text, endpoint, 'model')).toThrow('is not the address of a model')
  })

  test('of a data set says so', () => {
    expect(() => readHubAddress('rows', endpoint, 'dataset')).toThrow('is not the address of a data set')
  })
})

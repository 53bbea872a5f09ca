import { describe, expect, test } from 'vitest'
import type { JsonObject } from '#shared/config/paths.ts'
import { algorithmEntries } from '../../algorithmEntries.ts'
import { defaultSplit } from '#renderer/parts/preparation.ts'
import { withData, withMethodFor, withRows, withTypedRows } from '#renderer/features/newRun/chosenRows.ts'

const sums = {
  model: 'm',
  data: {
    train: '/sums/train.jsonl',
    heldOut: '/sums/heldout.jsonl',
    prompt: { column: 'sum' },
    chosen: 'right',
  },
}

describe('another source of rows', () => {
  test('leaves nothing of the rows before', () => {
    expect(withRows(sums, '')).toEqual({ model: 'm', data: { train: '', heldOut: defaultSplit } })
    expect(withRows(sums, { episodes: 4 })).toEqual({ model: 'm', data: { train: { episodes: 4 } } })
    expect(withRows(sums, undefined)).toEqual({ model: 'm' })
  })

  test('typed as a path is never measured on held-out rows of the file before', () => {
    const typed = withTypedRows(sums, '/poems.jsonl')
    expect(typed['data']).toEqual({ ...sums.data, train: '/poems.jsonl', heldOut: defaultSplit })
  })

  test('keeps a part that was held out of the rows themselves, and that nothing is', () => {
    for (const heldOut of [{ rows: 5, seed: 1 }, null, undefined]) {
      const config = { data: { train: 'a', heldOut } }
      expect(withTypedRows(config, 'ab')).toEqual({ data: { train: 'ab', heldOut } })
    }
  })
})

test('held-out rows of their own stay between versions of one data set alone', () => {
  const sets = [
    { versions: [{ directory: '/v1' }, { directory: '/v2' }] },
    { versions: [{ directory: '/other' }] },
  ]
  const config = { data: { train: '/v1', heldOut: '/measured' } }
  const after = (train: string) => withData(config, { train, heldOut: defaultSplit }, sets)['data']
  expect(after('/v2')).toEqual({ train: '/v2', heldOut: '/measured' })
  expect(after('/other')).toEqual({ train: '/other', heldOut: defaultSplit })
})

test('rows of preferences bring the method that learns from them, and no choice is overruled', () => {
  const choices = { models: [], algorithms: algorithmEntries }
  const after = (config: JsonObject, shape: string) => withMethodFor(config, shape, choices)
  expect(after({ model: 'm' }, 'preference')).toMatchObject({ model: 'm', algorithm: { id: 'dpo' } })
  expect(after({}, 'unpaired-preference')).toMatchObject({ algorithm: { id: 'kto' } })
  for (const config of [{ algorithm: { id: 'simpo' } }, { rewards: [{ function: 'contains' }] }])
    expect(after(config, 'preference')).toEqual(config)
  expect(after({}, 'prompt-answer')).toEqual({})
})

import path from 'node:path'
import { expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import { dataFolders, resourcesDirectory } from '#host/dataDirectory.ts'
import { withAbsolutePaths } from '#host/runs/runConfigFile.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const home = temporaryFolder()

test('adapters are meant from where the config lies, those of stages too', () => {
  const config = parseRunConfig({
    model: path.join(resourcesDirectory, 'starter'),
    data: { train: 'rows.jsonl' },
    rewards: [{ function: 'starter-correct' }],
    adapter: { initial: 'mine' },
    reference: { adapter: '../theirs' },
    stages: [{ reference: { adapter: 'other' } }, { reference: { mixing: 1 } }, {}],
  })
  const { adapter, reference, stages } = withAbsolutePaths(
    config,
    '/configs/here',
    dataFolders(home).datasets,
  )
  expect([adapter.initial, reference.adapter]).toEqual(['/configs/here/mine', '/configs/theirs'])
  expect(stages.map((stage) => stage.reference)).toEqual([
    { adapter: '/configs/here/other' },
    { mixing: 1 },
    undefined,
  ])
})

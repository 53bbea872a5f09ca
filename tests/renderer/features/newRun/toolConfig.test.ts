import { describe, expect, test } from 'vitest'
import { importConfig } from '#host/exchange/importConfig.ts'
import { configSections } from '#shared/config/fields.ts'
import { noteGroups, readSettingsFile, readWords, takenOver } from '#renderer/features/newRun/toolConfig.ts'

const fields = configSections.flatMap((each) => each.fields)
const draft = {
  name: 'mine',
  model: '/models/small',
  data: { train: '/data/rows', heldOut: { share: 0.1, seed: 42 }, prompt: { template: '{question}' } },
  rewards: [{ function: 'exact-match' }],
  device: { threads: 2 },
  optimization: { learningRate: 0.01, weightDecay: 0.5 },
}
const take = (text: string) => takenOver(draft, importConfig(text), fields)

describe('settings of another tool in the draft', () => {
  test('model, rows and rewards stay where the file names none; the rest is the file’s', () => {
    const next = take('num_generations: 4\nlearning_rate: 2.0e-6\nmax_completion_length: 99\nbeta: 0.04')
    expect(next).toMatchObject({
      name: 'mine',
      model: draft.model,
      rewards: draft.rewards,
      device: draft.device,
      rollout: { groupSize: 4, maxNewTokens: 99 },
      algorithm: { id: 'grpo', settings: { klCoefficient: 0.04 } },
    })
    expect(next['data']).toMatchObject(draft.data)
    expect(next['optimization']).toMatchObject({ learningRate: 2e-6 })
    expect(next['optimization']).not.toMatchObject({ weightDecay: 0.5 })
  })

  test('what the file names replaces the draft’s', () => {
    const text =
      'model_name_or_path: /their/model\ndataset_name: /their/rows.parquet\nnum_generations: 4\nbeta: 0.04'
    const next = take(text)
    expect(next['model']).toBe('/their/model')
    expect(next['data']).toMatchObject({ train: '/their/rows.parquet' })
    expect(next['data']).not.toMatchObject({ prompt: draft.data.prompt })
    expect(next['rewards']).toEqual(draft.rewards)
  })

  test('what says the default anyway is not written down', () => {
    expect(take('num_generations: 4\nbeta: 0.04')).not.toHaveProperty('checkpoints.keepLast')
  })

  test('says where each setting came from', () => {
    const { taken } = importConfig('learning_rate: 2.0e-6\nnum_generations: 4')
    expect(taken).toContainEqual({
      ours: 'optimization.learningRate',
      value: 2e-6,
      theirs: ['learning_rate'],
    })
    expect(taken.find(({ ours }) => ours === 'rollout.groupSize')?.theirs).toContain('num_generations')
  })
})

test('the choices of tool and algorithm say what the file itself comes to', () => {
  const imported = importConfig('loss_type: ipo\nbeta: 0.1', 'trl')
  expect(imported.reading).toBe('Read as TRL’s DPO settings: TRL was chosen; loss_type is ipo.')
  expect(readWords(imported, [{ id: 'dpo', title: 'DPO' }])).toEqual({
    tool: ', here TRL',
    algorithm: ', here DPO',
  })
})

describe('notes', () => {
  test('those of one kind stand together, what was left out first', () => {
    const { notes } = importConfig('num_generations: 4\nbf16: true\nno_such_setting: 3')
    const groups = noteGroups(notes)
    expect(groups.map(({ kind }) => kind)).toEqual(
      ['left-out', 'changed', 'filled-in'].filter((kind) => notes.some((note) => note.kind === kind)),
    )
    expect(groups.flatMap((group) => group.notes)).toHaveLength(notes.length)
    expect(groups[0]?.notes.some(({ name }) => name === 'no_such_setting')).toBe(true)
  })
})

test('a file no one wrote by hand is not read', async () => {
  expect(await readSettingsFile(new File(['beta: 1'], 'run.yaml'))).toBe('beta: 1')
  await expect(readSettingsFile(new File(['x'.repeat(1_000_001)], 'big.yaml'))).rejects.toThrow(
    'big.yaml is too large',
  )
})

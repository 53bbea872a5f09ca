import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { readRecipe, recipesIn, tableOf } from '../../scripts/exchange/recipes.ts'

const home = mkdtempSync(path.join(tmpdir(), 'turnwise-recipes-'))
afterAll(() => {
  rmSync(home, { recursive: true, force: true })
})

const files: Readonly<Record<string, string>> = {
  'recipes/sft.yaml':
    'model_name_or_path: a/b\ndataset_name: c/d\nlearning_rate: 2.0e-5\nmax_length: 512\npacking: true\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 2\nlora_r: 8\n',
  'recipes/reward.yaml': 'stage: rm\nfinetuning_type: lora\nmodel_name_or_path: a/b\n',
  'recipes/weights.yaml':
    'base_model: a/b\nmicro_batch_size: 2\nsequence_len: 64\nadapter: lora\ndatasets: [{path: x/y, type: alpaca}]\n',
  'tests/other.yaml': 'a: 1\n',
}

test('recipes of a checkout are read or refused, and compared with a plain reading', () => {
  const folder = path.join(home, 'some-tool')
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
    writeFileSync(path.join(folder, name), text)
  }
  const recipes = recipesIn(folder).map((file) => readRecipe(folder, file))
  expect(recipes.map(({ file, differences }) => [file, ...differences])).toEqual([
    ['recipes/reward.yaml'],
    ['recipes/sft.yaml'],
    ['recipes/weights.yaml'],
  ])
  expect(tableOf(recipes).at(-1)).toBe("| some-tool | 3 | 2 | 2 | 0 | 1 | 1: LLaMA-Factory's stage rm |")
})

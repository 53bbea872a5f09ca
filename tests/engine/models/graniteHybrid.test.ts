/** What is refused of Granite 4's state spaces. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { readModelConfig } from '#engine/models/registry.ts'

const file = path.resolve(import.meta.dirname, '../../fixtures/reference/granite4-hybrid/model/config.json')
const config = JSON.parse(readFileSync(file, 'utf8')) as object

test.each([
  [{ mamba_n_heads: 128, mamba_d_head: 'auto' }, 'mamba_n_heads'],
  [{ mamba_d_head: 5 }, 'mamba_n_heads'],
  [{ mamba_n_groups: 3 }, 'mamba_n_groups'],
  [{ time_step_limit: [0, 1] }, 'limits on the steps'],
  [{ time_step_limit: [0, { __float__: 'NaN' }] }, 'limits on the steps'],
  [{ position_embedding_type: 'alibi' }, 'positions of the type “alibi”'],
  [{ layer_types: ['mamba', 'mamba', 'mamba'] }, 'without attention'],
])('%j', (changed, words) => {
  expect(() => readModelConfig({ ...config, ...changed }, 'config.json')).toThrow(words)
})

/** Why a setting of another tool is not taken over: where a setting here does what it does, that is named. */
import { expect, test } from 'vitest'
import { configSections } from '#shared/config/fields.ts'
import { toolIds } from '#shared/tools.ts'
import { fixedSettings } from '#host/exchange/settingsTable.ts'
import { importConfig } from '#host/exchange/importConfig.ts'

const fields = configSections.flatMap(({ fields: own }) => own.map(({ key }) => key))
/** Of other tools and of the whole config, in reasons. */
const others = ['pop_size', 'rewards', 'rollout.server']

test('every setting that a reason names is one', () => {
  const named = toolIds.flatMap((tool) =>
    fixedSettings[tool].flatMap(({ because }) =>
      [...because.matchAll(/`([\w.]+)`/g)].map(([, name]) => name ?? ''),
    ),
  )
  expect(named.length).toBeGreaterThan(5)
  expect(named.filter((name) => !fields.includes(name) && !others.includes(name))).toEqual([])
})

test.each([
  ['use_rslora: true', 'adapter.rsLora'],
  ['quantization_config: { load_in_4bit: true }', 'base.precision'],
  ['use_separate_reference_adapter: false', 'reference.policy'],
  ['max_model_len: 512', 'contextLength'],
  ['device: cuda', 'device.kind'],
  ['use_vllm: true', 'rollout.server'],
])('AgileRL’s %s is said to be %s', (line, setting) => {
  const { notes } = importConfig(`algo: gspo\nlora_r: 16\ngroup_size: 8\n${line}\n`, 'agilerl')
  expect(JSON.stringify(notes)).toContain(`\`${setting}\``)
})

test('the older names of AReaL’s cap are said to be ours', () => {
  const text = 'gconfig: { n_samples: 8 }\nactor: { use_decoupled_loss: true, behav_imp_weight_cap: 5.0 }\n'
  const { notes } = importConfig(text, 'areal')
  expect(JSON.stringify(notes)).toContain('`rollout.mismatchCap`')
})

import { expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import { algorithms } from '#rl/algorithms/registry.ts'
import { valueAt } from '#shared/config/paths.ts'
import { exportConfig } from '#host/exchange/exportConfig.ts'
import { importConfig, initialConfig } from '#host/exchange/importConfig.ts'
import { yamlText } from '#host/exchange/project/yamlText.ts'
import { ourSettings, rowsFor } from '#host/exchange/settingsTable.ts'
import { projectAlgorithms, projectTools, type ProjectTool } from '#host/exchange/tools.ts'

const size = {
  rows: 1000,
  contextLength: 2048,
  modules: ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'],
}

/** Nothing of it is a default of ours or of the tools. */
const unusual = {
  model: '/models/m',
  data: { train: '/data/train.jsonl', shuffle: false },
  adapter: { rank: 12, alpha: 48, rsLora: true, targets: ['q', 'o', 'down'], dropout: 0.15 },
  rollout: {
    temperature: 0.7,
    topK: 33,
    topP: 0.9,
    minP: 0.02,
    repetitionPenalty: 1.1,
    minNewTokens: 2,
    maxNewTokens: 77,
    mismatchCap: 5,
  },
  optimization: {
    learningRate: 3.3e-5,
    beta1: 0.8,
    beta2: 0.95,
    epsilon: 1e-7,
    weightDecay: 0.03,
    maxGradNorm: 0.4,
  },
  evaluation: { every: 4 },
  checkpoints: { every: 6, keepLast: 5, keepBest: 0 },
  rewards: [{ function: 'exact-match' }],
  seed: 11,
  steps: 24,
}

const groups = {
  klCoefficient: 0.07,
  klImportanceWeighting: false,
  klClamp: null,
  offPolicyThreshold: 0.3,
  topEntropyShare: 0.4,
  entropyCoefficient: 0.01,
  maskTruncated: true,
}

const cases: readonly (readonly [ProjectTool, string, Record<string, unknown>, Record<string, unknown>])[] = [
  [
    'trl',
    'grpo',
    {
      ...groups,
      lossNorm: 'trajectory-mean',
      clipCoefficient: [0.7, 1.4],
      ratioLimit: 2,
      advantageNorm: 'mean-only',
      overlongBuffer: 8,
      overlongPenalty: 0.5,
    },
    { schedule: 'linear', warmupProportion: 0.25, epochs: 2, minibatchSize: 24 },
  ],
  [
    'trl',
    'grpo',
    { ...groups, lossNorm: 'constant-length', advantageNorm: 'mean-batch-std' },
    { schedule: 'cosine', maxGradNorm: null },
  ],
  ['trl', 'grpo', { klCoefficient: 0, lossNorm: 'token-mean', clipCoefficient: [0.8, 1.28] }, {}],
  ['trl', 'gspo', { ...groups, lossNorm: 'token-mean', clipCoefficient: 0.003 }, { schedule: 'linear' }],
  ['trl', 'cispo', { klCoefficient: 0, lossNorm: 'token-mean', clipCoefficient: 3, klClamp: null }, {}],
  [
    'trl',
    'rloo',
    {
      klCoefficient: 0.2,
      clipCoefficient: 0.15,
      normalizeAdvantages: true,
      rewardClipRange: 3,
      maskTruncated: true,
    },
    { epochs: 3, minibatchSize: 24 },
  ],
  [
    'trl',
    'dpo',
    { beta: 0.3, nllAlpha: 0.25, loss: 'robust', labelSmoothing: 0.1 },
    { schedule: 'linear', warmupProportion: 0.5 },
  ],
  ['trl', 'dpo', { beta: 0.3, nllAlpha: 0 }, {}],
  ...['hinge', 'ipo', 'sppo', 'apo-zero', 'apo-down'].map(
    (loss) => ['trl', 'dpo', { loss, nllAlpha: 0.5 }, {}] as const,
  ),
  ['trl', 'dpo', { loss: 'exo', labelSmoothing: 0.01 }, {}],
  [
    'trl',
    'sapo',
    { klCoefficient: 0.07, klClamp: null, positiveTemperature: 2, negativeTemperature: 3 },
    { epochs: 2 },
  ],
  ['trl', 'sft', {}, { schedule: 'constant', warmupProportion: 0.25 }],
  [
    'agilerl',
    'grpo',
    {
      klCoefficient: 0.07,
      klAdvantageShaping: true,
      klClamp: 3,
      offPolicyThreshold: 0.3,
      advantageNorm: 'mean-only',
      whitenAdvantages: true,
      advantageClipRange: 4,
      filterZeroAdvantages: true,
      lossNorm: 'token-mean',
      importanceSamplingLevel: 'turn',
    },
    { epochs: 2, minibatchSize: 24 },
  ],
  ['agilerl', 'gspo', { klCoefficient: 0.07, clipCoefficient: 0.003 }, {}],
  [
    'agilerl',
    'cispo',
    { klCoefficient: 0.07, lossNorm: 'trajectory-mean' },
    { schedule: 'cosine', warmupProportion: 0.25 },
  ],
  [
    'agilerl',
    'ppo',
    {
      klCoefficient: 0.02,
      gaeLambda: 0.9,
      valueCoefficient: 0.7,
      turnLevelClip: false,
      turnValueReduction: 'mean',
      whitenAdvantages: false,
      discount: 0.99,
    },
    { criticLearningRate: 7e-5 },
  ],
  ['agilerl', 'reinforce', { klCoefficient: 0.02, clipCoefficient: 0.3, discount: 0.99 }, {}],
  ['agilerl', 'dpo', { beta: 0.3, nllAlpha: 0.25 }, {}],
  ['agilerl', 'sft', {}, {}],
]

test.each(cases)(
  '%s: %s comes back with every setting that has a name there (%#)',
  (tool, id, settings, optimization) => {
    const { groupSize, experience } = algorithms.find((algorithm) => algorithm.id === id) ?? algorithms[0]!
    const isRollout = experience === 'rollout'
    const size8 = groupSize.minimum > 1 ? { promptsPerStep: 12, groupSize: 6 } : { promptsPerStep: 12 }
    const config = parseRunConfig({
      ...unusual,
      rollout: { ...unusual.rollout, ...(isRollout ? size8 : { promptsPerStep: 12 }) },
      optimization: { ...unusual.optimization, ...optimization },
      algorithm: { id, settings },
    })
    const { values } = exportConfig(config, tool, size)
    const text = yamlText({
      ...(tool === 'trl'
        ? { trainer: projectAlgorithms.trl[id] }
        : { algorithm: { name: projectAlgorithms.agilerl[id] } }),
      ...values,
    })
    const { config: back, notes } = importConfig(text, tool)
    const known = initialConfig(id).algorithm.settings
    const full = (each: typeof config) => ({
      ...each,
      rollout: { ...each.rollout, groupSize: each.rollout.groupSize ?? groupSize.default },
      algorithm: { id: each.algorithm.id, settings: { ...known, ...each.algorithm.settings } },
    })
    const named = rowsFor(id).filter((row) => row[tool]?.read !== undefined && row[tool].write !== undefined)
    expect(named.length).toBeGreaterThan(12)
    for (const { ours } of named)
      expect([ours, valueAt(full(back), ours)]).toEqual([ours, valueAt(full(config), ours)])
    expect(back.algorithm.id).toBe(id)
    expect(notes.filter(({ kind }) => kind === 'left-out')).toEqual([])
  },
)

test('every setting of a run stands in the table, for every algorithm', () => {
  const skipped =
    /^(name|rewards|rewardFailures|rewardLimits|environment|algorithm\.id|data\.|stages|device|engine|shownTrajectories|tensorboard|wandb|checkpoints|python|rollout\.(server|workflow|agent)|adapter\.(initial|mergeConfigs)|reference\.mixing|model|evaluation\.rows|optimization\.criticLearningRate)/
  for (const { id, experience } of algorithms) {
    const config = initialConfig(id)
    const leaves = Object.entries(config).flatMap(([section, value]) =>
      typeof value === 'object' && value !== null && !Array.isArray(value) && section !== 'algorithm'
        ? Object.keys(value).map((name) => `${section}.${name}`)
        : section === 'algorithm'
          ? Object.keys(config.algorithm.settings).map((name) => `algorithm.settings.${name}`)
          : [section],
    )
    const rows = new Set(rowsFor(id).map(({ ours }) => ours))
    const isMeant = (name: string) =>
      !skipped.test(name) &&
      (experience === 'rollout' || !name.startsWith('rollout.') || name === 'rollout.promptsPerStep')
    const missing = leaves.filter((name) => isMeant(name) && !rows.has(name))
    expect([id, missing]).toEqual([id, []])
  }
})

test('the table names only settings that there are', () => {
  for (const { ours, for: only } of ourSettings) {
    const ids = only ?? ['grpo']
    expect([
      ours,
      ids.some((id) => valueAt(initialConfig(id), ours) !== undefined || ours === 'name'),
    ]).toEqual([ours, true])
  }
})

test('what has no name there is told, and nothing is when all has', () => {
  const config = parseRunConfig({
    ...unusual,
    adapter: {},
    optimization: {},
    checkpoints: { keepBest: 0 },
    evaluation: { every: 0 },
    rollout: { precision: 'int8', stopStrings: ['\n'] },
    reference: { refreshSteps: 5 },
    algorithm: { id: 'grpo', settings: { dynamicSampling: true, whitenAdvantages: true } },
  })
  const told = exportConfig(config, 'trl', size).unmapped.join('\n')
  for (const name of [
    'rollout.precision is "int8"',
    'rollout.stopStrings is ["\\n"]',
    'reference.refreshSteps is 5',
    'dynamicSampling is true',
    'whitenAdvantages is true',
  ])
    expect(told).toContain(name)
  const plain = parseRunConfig({
    model: 'm',
    data: { train: 't' },
    rewards: [{ function: 'exact-match' }],
    evaluation: { every: 0 },
    checkpoints: { keepBest: 0 },
    algorithm: { settings: { klClamp: null, advantageNorm: 'mean-only' } },
  })
  expect(exportConfig(plain, 'trl', size).unmapped).toEqual([])
})

test.each([
  ['trl', 'kto', 'Projects for TRL are not written for kto', 'dpo'],
  ['agilerl', 'orpo', 'AgileRL 2.58.0 has no equivalent of orpo', 'nllAlpha'],
  ['trl', 'ppo', 'TRL 1.16.0 has no equivalent of ppo', 'rloo'],
  ['trl', 'remax', 'TRL 1.16.0 has no equivalent of remax', 'rloo'],
  ['trl', 'reinforce-plus-plus', 'no equivalent of reinforce-plus-plus', 'mean-batch-std'],
  ['agilerl', 'rloo', 'AgileRL 2.58.0 has no equivalent of rloo', 'mean-only'],
] as const)('%s refuses %s by name and says what is nearest', (tool, id, sentence, nearest) => {
  const config = parseRunConfig({ ...unusual, algorithm: { id } })
  expect(() => exportConfig(config, tool, size)).toThrow(
    expect.objectContaining({
      message: expect.stringContaining(sentence) as string,
      hint: expect.stringContaining(nearest) as string,
    }),
  )
})

test('environments and stages are refused', () => {
  const world = parseRunConfig({ ...unusual, environment: { function: 'number-guessing' } })
  expect(() => exportConfig(world, 'trl', size)).toThrow('learns in the environment “number-guessing”')
  const staged = parseRunConfig({
    ...unusual,
    stages: [{ algorithm: { id: 'grpo' } }, { algorithm: { id: 'grpo' } }],
  })
  expect(() => exportConfig(staged, 'agilerl', size)).toThrow('has 2 stages')
})

test('every tool has its algorithms in our list', () => {
  for (const tool of projectTools)
    for (const id of Object.keys(projectAlgorithms[tool]))
      expect(algorithms.map((algorithm) => algorithm.id)).toContain(id)
})

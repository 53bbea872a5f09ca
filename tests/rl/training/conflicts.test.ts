import { describe, expect, test } from 'vitest'
import { algorithmById } from '#rl/algorithms/registry.ts'
import { configConflicts } from '#rl/training/conflicts.ts'
import { problemSentence } from '#shared/errors.ts'
import { parseRunConfig } from '#shared/runConfig.ts'

const smallest = { model: 'm', data: { train: 't' }, rewards: [{ function: 'f' }] }

const server = { kind: 'vllm', url: 'http://127.0.0.1:8000', adapterFolder: '/a' }

function conflictsOf(changes: Record<string, unknown>): string[] {
  const config = parseRunConfig({ ...smallest, ...changes })
  const { id, settings } = config.algorithm
  return configConflicts(config, algorithmById(id).configure(settings)).map(problemSentence)
}

test('auto without a device that has the precision says what to do', () => {
  const config = parseRunConfig({ ...smallest, base: { precision: 'bf16' } })
  const algorithm = algorithmById('grpo').configure(config.algorithm.settings)
  expect(configConflicts(config, algorithm)).toEqual([])
  expect(configConflicts(config, algorithm, 'cuda')).toEqual([])
  expect(configConflicts(config, algorithm, 'cpu').map(problemSentence)).toEqual([
    'base.precision: bf16, which needs CUDA; `device.kind` is auto, which takes the CPU here: let such a device pass its check first, or name one in `device.kind`.',
  ])
})

describe('settings that do not fit each other are named', () => {
  test.each([
    [{ rewards: [] }, 'rewards: grpo learns from rewards'],
    [{ data: { train: { episodes: 4 } } }, 'data.train: episodes need an environment'],
    [{ rollout: { groupSize: 1 } }, 'rollout.groupSize: 1, but grpo compares at least 2'],
    [{ rollout: { minNewTokens: 9, maxNewTokens: 8 } }, 'rollout.minNewTokens: 9, but'],
    [{ optimization: { minibatchSize: 24 } }, 'does not divide the 64 trajectories of a step'],
    [{ optimization: { minibatchSize: 128 } }, 'does not divide the 64 trajectories'],
    [
      { algorithm: { id: 'dpo' }, optimization: { minibatchSize: 1 } },
      'optimization.minibatchSize: 1, but the algorithm needs a multiple of 2',
    ],
    [
      { algorithm: { id: 'sft' }, data: { train: { episodes: 4 } } },
      'data.train: sft learns from given answers',
    ],
    [
      { rollout: { server, topK: 20 } },
      'rollout.topK: 20, but a `rollout.server` returns correct log-probabilities',
    ],
    [{ rollout: { server, topP: 0.9 } }, 'rollout.topP: 0.9'],
    [{ rollout: { server, minP: 0.1 } }, 'rollout.minP: 0.1'],
    [{ rollout: { server, repetitionPenalty: 1.1 } }, 'rollout.repetitionPenalty: 1.1'],
    [{ base: { precision: 'bf16' }, device: { kind: 'dml' } }, 'bf16, which needs CUDA'],
    [{ base: { precision: 'tf32' }, device: { kind: 'webgpu' } }, 'tf32, which needs CUDA'],
    [{ base: { precision: 'f16' }, device: { kind: 'cpu' } }, 'f16, which needs CUDA, DirectML and WebGPU'],
    [{ rollout: { server, precision: 'int8' } }, 'rollout.precision: int8'],
    [{ rollout: { server, routerReplay: true } }, 'rollout.routerReplay: true, but a `rollout.server`'],
    [{ rollout: { maxStaleness: 1 } }, 'rollout.maxStaleness: 1, but this machine cannot generate while it'],
    [
      {
        rollout: { server, maxStaleness: 2 },
        algorithm: { id: 'grpo', settings: { dynamicSampling: true } },
      },
      'rollout.maxStaleness: 2, but with `dynamicSampling` the prompts',
    ],
    [
      { rollout: { server, maxStaleness: 2, mismatchCorrection: 'off' } },
      'rollout.mismatchCorrection: off, but with `rollout.maxStaleness` 2',
    ],
    [{ rollout: { server, maxStaleness: 2, minNewTokens: 3 } }, 'rollout.minNewTokens: 3, but with'],
    [
      { base: { precision: 'int4' }, rollout: { precision: 'int8' } },
      'rollout.precision: int8, but with `base.precision` int4 rollouts use the quantised base',
    ],
    [{ reference: { policy: 'base', refreshSteps: 1 } }, 'reference.policy: “base”, which never changes'],
    [{ reference: { refreshSteps: 1, refreshPasses: 1 } }, 'only one of them'],
    [{ reference: { mixing: 0.5 } }, 'reference.mixing: 0.5, but neither'],
    [{ reference: { policy: 'base', adapter: 'a' } }, 'reference.adapter: with `reference.policy` “base”'],
  ])('%j', (changes, sentence) => {
    const conflicts = conflictsOf(changes)
    expect(conflicts).toHaveLength(1)
    expect(conflicts[0]).toContain(sentence)
  })

  test.each([
    {},
    { rollout: { server } },
    { rollout: { server: { ...server, url: [server.url, 'http://127.0.0.1:8001'] }, maxStaleness: 4 } },
    { rollout: { maxStaleness: 4 }, algorithm: { id: 'sft' }, rewards: [] },
    { base: { precision: 'int8' } },
    { optimization: { minibatchSize: 16 } },
    { environment: { function: 'countdown' }, rewards: [], data: { train: { episodes: 4 } } },
    { algorithm: { id: 'sft' }, rewards: [], rollout: { groupSize: 8 } },
    { algorithm: { id: 'dpo' }, rewards: [], optimization: { minibatchSize: 4 } },
    { reference: { refreshPasses: 2, mixing: 0.6 } },
  ])('%j fits', (changes) => {
    expect(conflictsOf(changes)).toEqual([])
  })

  test('all at once', () => {
    expect(conflictsOf({ rewards: [], rollout: { groupSize: 1 } })).toHaveLength(2)
  })
})

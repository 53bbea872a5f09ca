import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { parseStudyConfig } from '#shared/studies.ts'
import { createHost } from '#host/createHost.ts'
import { importConfig, type ImportedConfig } from '#host/exchange/importConfig.ts'

import { wandbFile } from '#host/exchange/wandbSweep.ts'
import { starterConfig } from '../runs/runFixture.ts'
import { sectionsOf, tutorial, wandb } from './searchFiles.ts'
import { isWhole, wholeTitle } from '../../sweeps.ts'

function temporaryFolder(): Disposable & { readonly path: string } {
  const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-import-'))
  return { path: folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
}

const noteOf = ({ notes }: ImportedConfig, name: string): string | undefined =>
  notes.find((note) => note.name === name)?.text

/** Every study that comes out is one that this program reads. */
function imported(text: string): ImportedConfig {
  const outcome = importConfig(text)
  expect(() => parseStudyConfig({ ...outcome.config, ...outcome.study })).not.toThrow()
  return outcome
}

const ranges = {
  'algorithm.settings.klCoefficient': { min: 1e-4, max: 1e-2 },
  'optimization.learningRate': { min: 1e-7, max: 1e-5 },
}

test('AgileRL: a population of a Python file, which is not run', () => {
  const outcome = imported(tutorial)
  expect(outcome.study).toEqual({
    population: {
      size: 4,
      every: 20,
      tournament: 3,
      elitism: true,
      initial: 'same',
      mutation: {
        probability: 0.857142857143,
        elite: true,
        parameters: {
          'algorithm.settings.klCoefficient': { min: 1e-4, max: 1e-2 },
          'optimization.learningRate': { min: 1e-7, max: 1e-5, shrink: 0.5, grow: 2 },
          'rollout.groupSize': { min: 4, max: 12, whole: true },
        },
      },
    },
  })
  expect(outcome.tool).toBe('agilerl')
  expect(outcome.config).toMatchObject({
    passes: 2,
    evaluation: { every: 5 },
    adapter: { rank: 16, alpha: 64, targets: ['q', 'v'] },
    algorithm: { id: 'grpo', settings: { klCoefficient: 0.001 } },
    optimization: { learningRate: 5e-6 },
    rollout: { promptsPerStep: 16, groupSize: 8 },
  })
  expect(noteOf(outcome, 'new_layer')).toContain('there is no mutation of layers for LLMs')
  expect(noteOf(outcome, 'no_such_thing')).toContain('grpo has no such setting in Turnwise')
  expect(noteOf(outcome, 'Mutations.mutation_sd')).toContain('only settings mutate')
  expect(noteOf(outcome, 'Mutations.rand_seed')).toContain('follow from `seed`')
  expect(noteOf(outcome, 'INIT_HP.SEEN')).toBe(
    'INIT_HP.SEEN was skipped: only running the file would tell its value.',
  )
  expect(outcome.notes.filter(({ name }) => /POP_SIZE|TOURN|evo_steps/.test(name))).toEqual([])
})

test('AgileRL: the same population from INIT_HP with MUTATION_PARAMS and from a manifest', () => {
  const sections = imported(sectionsOf({}))
  const manifest = imported(`
algorithm: {name: GRPO, batch_size: 4, beta: 0.001, lr: 0.000005, group_size: 2}
training: {evo_steps: 5, pop_size: 2}
mutation:
  mutation_sd: 0.1
  probabilities: {no_mut: 0.1, arch_mut: 0.0, new_layer: 0.0, params_mut: 0.3, act_mut: 0.0, rl_hp_mut: 0.6}
  rl_hp_selection: {lr: {min: 0.0000001, max: 0.00001}, beta: {min: 0.0001, max: 0.01, grow_factor: 1.5}}
selection_strategy: {tournament_size: 2, elitism: false, strategy: tournament}
network: {pretrained_model_name_or_path: org/m}
`)
  const population = {
    size: 2,
    every: 5,
    tournament: 2,
    elitism: false,
    initial: 'same',
    mutation: { probability: 0.857142857143, elite: true, parameters: ranges },
  }
  expect(sections.study).toEqual({ population })
  const parameters = { ...ranges, 'algorithm.settings.klCoefficient': { min: 1e-4, max: 1e-2, grow: 1.5 } }
  expect(manifest.study).toEqual({
    population: { ...population, mutation: { ...population.mutation, parameters } },
  })
  expect(manifest.config.model).toBe('org/m')
  expect(noteOf(manifest, 'params_mut')).toContain('no mutation of weights')
  // What AgileRL mutates by itself is not known here.
  const open = imported(
    'MUTATION_PARAMS: {MIN_LR: 0.0000001, MAX_LR: 0.00001}\nINIT_HP: {ALGO: GRPO, POP_SIZE: 2}',
  )
  expect(open.study).toMatchObject({ population: { every: 10, mutation: { probability: 0.333333333333 } } })
  expect(noteOf(open, 'population.every')).toContain('does not say evo_steps')
})

test('AgileRL: one agent, or nothing that mutates, is a single run', () => {
  const alone = importConfig(
    'INIT_HP: {ALGO: GRPO, LR: 0.00001, POP_SIZE: 1}\nMUTATION_PARAMS: {MIN_LR: 0.000001, MAX_LR: 0.0001}',
  )
  expect(alone.study).toBe(null)
  const still = importConfig('algorithm: {name: GRPO}\ntraining: {pop_size: 2, evo_steps: 5}')
  expect(still.study).toBe(null)
  expect(noteOf(still, 'training.pop_size')).toContain('a run is one agent')
  expect(noteOf(still, 'training.evo_steps')).toContain('describes no population')
})

test('W&B: a sweep with the names of TRL', () => {
  const outcome = imported(wandb)
  expect(outcome.tool).toBe('trl')
  expect(outcome.config).toMatchObject({ name: 'rates', rollout: { groupSize: 4 } })
  expect(outcome.study).toEqual({
    sweep: {
      method: 'bayes',
      trials: 12,
      early: { method: 'halving', keep: 2, from: 3 },
      fitness: { metric: 'eval_reward', goal: 'max' },
      parameters: {
        'optimization.learningRate': { min: 1e-6, max: 1e-4, scale: 'log', whole: null },
        'algorithm.settings.klCoefficient': { values: [0, 0.04] },
        'rollout.temperature': { min: 0.5, max: 1.5, scale: 'linear', whole: null },
        'optimization.maxGradNorm': { values: [0.5, 1, 1.5, 2] },
        'optimization.epochs': { min: 1, max: 4, scale: 'linear', whole: true },
        'optimization.weightDecay': { min: 0.0804, max: 0.1196, scale: 'linear', whole: null },
        seed: { values: [1, 2] },
      },
    },
  })
  // What is searched is not filled in.
  expect(noteOf(outcome, 'optimization.learningRate')).toBe(undefined)
  expect(noteOf(outcome, 'program')).toContain('Turnwise trains by itself')
  expect(noteOf(outcome, 'metric.target')).toContain('ends with its trials')
  expect(noteOf(outcome, 'early_terminate')).toContain('after 3, 6, … steps')
  expect(noteOf(outcome, 'epsilon')).toBe('epsilon was skipped: beta without limits has no range.')
  expect(noteOf(outcome, 'seed')).toContain('equally likely')
  expect(noteOf(outcome, 'batch_norm_momentum')).toContain('grpo has no such setting in Turnwise')
})

test.each([
  ['uniform', { min: 1, max: 2.5 }, { min: 1, max: 2.5, scale: 'linear', whole: null }],
  ['log_uniform', { min: 0, max: 1 }, { min: 1, max: Math.E, scale: 'log', whole: null }],
  ['inv_log_uniform', { min: 0, max: 1 }, { min: 1 / Math.E, max: 1, scale: 'log', whole: null }],
  ['inv_log_uniform_values', { min: 0.1, max: 2 }, { min: 0.1, max: 2, scale: 'log', whole: null }],
  ['q_log_uniform_values', { min: 1, max: 256, q: 1 }, { min: 1, max: 256, scale: 'log', whole: true }],
  ['q_log_uniform_values', { min: 0.5, max: 2, q: 0.5 }, { min: 0.5, max: 2, scale: 'log', whole: null }],
  ['log_normal', { mu: 0, sigma: 0 }, null],
])('W&B: %s %o', (distribution, limits, range) => {
  const parameters = {
    'optimization.learningRate': { distribution, ...limits },
    'optimization.maxGradNorm': { values: [1] },
  }
  const { study, tool } = imported(JSON.stringify({ method: 'random', parameters }))
  expect(tool).toBe(null)
  const found = (study?.['sweep'] as { parameters: Record<string, unknown> }).parameters
  expect(found['optimization.learningRate'] ?? null).toEqual(range)
})

test('W&B: nested parameters are dotted names of Turnwise; max_iter, s and eta say where the first rung is', () => {
  const outcome = imported(
    JSON.stringify({
      method: 'grid',
      metric: { name: 'val_acc' },
      early_terminate: { type: 'hyperband', max_iter: 27, s: 2, eta: 3 },
      parameters: {
        steps: { value: 27 },
        optimization: { parameters: { learningRate: { values: [1e-5, 1e-4] }, maxGradNorm: { value: 2 } } },
      },
    }),
  )
  expect(outcome.tool).toBe(null)
  expect(outcome.config).toMatchObject({ steps: 27, optimization: { maxGradNorm: 2 } })
  expect(outcome.study).toEqual({
    sweep: {
      method: 'grid',
      early: { method: 'halving', keep: 3, from: 3 },
      parameters: { 'optimization.learningRate': { values: [1e-5, 1e-4] } },
      fitness: { metric: 'eval_reward', goal: 'max' },
    },
  })
  expect(noteOf(outcome, 'sweep.fitness.metric')).toBe(
    'sweep.fitness.metric is eval_reward: there is no metric val_acc.',
  )
})

test('W&B: what a sweep is written as comes back', () => {
  const sweep = {
    method: 'random',
    trials: 9,
    early: { method: 'halving', keep: 3, from: 4 },
    fitness: { metric: 'eval_reward', goal: 'max' },
    parameters: {
      'optimization.learningRate': { min: 1e-6, max: 1e-4, scale: 'log', whole: null },
      'optimization.maxGradNorm': { min: 0.5, max: 2, scale: 'linear', whole: null },
      'rollout.groupSize': { min: 2, max: 64, scale: 'log', whole: true },
      'optimization.epochs': { min: 1, max: 4, scale: 'linear', whole: true },
      'rollout.temperature': { values: [0.7, 1] },
    },
  }
  const study = parseStudyConfig({ name: 'rates', sweep: { ...sweep, budget: { hours: 2 } } })
  const { document, lost } = wandbFile(study)
  expect(lost.join(' ')).toContain('budget.hours')
  const back = imported(stringify(document))
  expect(back).toMatchObject({ tool: null, study: { sweep }, config: { name: 'rates' } })
  expect(() => wandbFile(parseStudyConfig({ seeds: { values: 3 } }))).toThrow('W&B has sweeps only')
})

test('W&B: a dict in a Python file, as TRL’s hp_space returns it', () => {
  const outcome = imported(`
from trl import GRPOConfig, GRPOTrainer

def space(trial):
    return {
        "method": "random",
        "metric": {"name": "objective", "goal": "maximize"},
        "parameters": {"learning_rate": {"distribution": "uniform", "min": 1e-6, "max": 1e-4}},
    }

args = GRPOConfig(output_dir="out", num_generations=4, beta=float("2e-3"))
trainer = GRPOTrainer("org/model", args=args, reward_funcs=accuracy)
trainer.hyperparameter_search(direction="maximize", backend="wandb", hp_space=space, n_trials=10)
`)
  expect(outcome.config).toMatchObject({
    model: 'org/model',
    rollout: { groupSize: 4 },
    algorithm: { settings: { klCoefficient: 2e-3 } },
  })
  expect(outcome.study).toMatchObject({
    sweep: {
      method: 'random',
      parameters: { 'optimization.learningRate': { min: 1e-6, max: 1e-4, scale: 'linear' } },
    },
  })
})

test.runIf(isWhole)(wholeTitle('an imported population trains'), async () => {
  using directory = temporaryFolder()
  await using host = createHost({ dataDirectory: directory.path, servesQueue: false })
  const { config, study } = imported(
    sectionsOf({ POP_SIZE: 2, EVO_STEPS: 1, TOURN_SIZE: 2, GROUP_SIZE: 2, BATCH_SIZE: 2 }),
  )
  const { model, data, rewards, rollout, evaluation } = starterConfig
  const own = { model, data, rewards, evaluation, rollout: { ...config.rollout, ...rollout, groupSize: 2 } }
  const { id } = await host.studies.start(
    { ...config, ...own, steps: 2, parallel: 1, ...study },
    directory.path,
  )
  const over = await host.studies.ended(id)
  expect(over).toMatchObject({ status: 'finished', error: null, best: { step: 2 } })
  const [first] = over.trials
  // The first generation begins as AgileRL's does: every agent with the values of INIT_HP.
  expect(first?.settings).toEqual({ seed: 42 })
  const mutated = over.trials.flatMap(({ mutation }) => mutation ?? [])
  expect(mutated.every(({ from }) => [5e-6, 0.002].includes(from))).toBe(true)
})

test('a search of which nothing exists here is refused', () => {
  expect(() =>
    importConfig(
      JSON.stringify({
        method: 'grid',
        parameters: { learning_rate: { min: 'a' }, num_generations: { value: 4 } },
      }),
    ),
  ).toThrow('name at least one setting.')
  expect(() => importConfig('from x import y\nprint(1)')).toThrow('The file has no setting that identifies')
})

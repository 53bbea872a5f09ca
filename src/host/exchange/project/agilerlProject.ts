/** The folder agilerl/: a manifest, a training script, the reward, and how accelerate starts it. */
import { algorithmById } from '#rl/algorithms/registry.ts'
import { projectAlgorithm } from '../tools.ts'
import { projectResource, type ProjectFiles, type ProjectParts } from './projectFiles.ts'
import { yamlText } from './yamlText.ts'

export function agilerlFiles(parts: ProjectParts): ProjectFiles {
  const isRewarded = algorithmById(parts.run.algorithm.id).experience === 'rollout'
  const names = [
    'train.py',
    'accelerate_zero2.yaml',
    'requirements.txt',
    ...(isRewarded ? ['reward.py'] : []),
  ]
  return {
    ...Object.fromEntries(names.map((name) => [`agilerl/${name}`, projectResource(`agilerl/${name}`)])),
    'agilerl/manifest.yaml': `# Written by Turnwise: every value is said, so that no default of the library decides anything.\n${yamlText(manifestOf(parts))}`,
  }
}

const adapterNames = ['lora_r', 'lora_alpha', 'target_modules', 'lora_dropout']
const trainingNames = ['max_steps', 'num_epochs', 'evaluation_interval', 'pop_size']
const networkNames = ['pretrained_model_name_or_path']

function manifestOf({ run, exported: { values, quantities } }: ProjectParts) {
  const { experience } = algorithmById(run.algorithm.id)
  const pick = (names: readonly string[]) =>
    Object.fromEntries(names.filter((name) => name in values).map((name) => [name, values[name]]))
  const elsewhere = new Set([...adapterNames, ...trainingNames, ...networkNames])
  const own = Object.fromEntries(Object.entries(values).filter(([name]) => !elsewhere.has(name)))
  return {
    api_version: 'agilerl.com/v1',
    algorithm: {
      name: projectAlgorithm('agilerl', run.algorithm.id),
      ...own,
      micro_batch_size_per_gpu: quantities.perDevice,
    },
    environment: experience === 'rollout' ? rolloutEnvironment : answersEnvironment(experience),
    training: { ...pick(trainingNames), eval_loop: 1 },
    network: {
      ...pick(networkNames),
      max_context_length: quantities.contextLength,
      lora_config: { ...pick(adapterNames), target_parameters: null, task_type: 'CAUSAL_LM' },
    },
  }
}

/** train.py serves the rows itself, prompts rendered as in the run. */
const rolloutEnvironment = {
  env_type: 'rollout',
  dataset: '../data/train.jsonl',
  prompt_template: { user_0: '{question}' },
  rubric_file_path: 'reward.py',
  rubric_name: 'reward_fn',
  train_test_split: 0.9,
  max_turns: 1,
}

const answersEnvironment = (experience: 'demonstrations' | 'preferences') => ({
  env_type: 'dataset',
  objective: experience === 'preferences' ? 'preference' : 'sft',
  dataset: '../data/train.jsonl',
  response_column: 'completion',
  train_test_split: 0.9,
})

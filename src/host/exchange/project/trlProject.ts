/** The folder trl/: a training script, its settings, and how accelerate starts it. */
import path from 'node:path'
import { projectAlgorithm } from '../tools.ts'
import { projectResource, type ProjectFiles, type ProjectParts } from './projectFiles.ts'
import { yamlText } from './yamlText.ts'

export function trlFiles(parts: ProjectParts): ProjectFiles {
  return {
    'trl/train.py': projectResource('trl/train.py'),
    'trl/accelerate.yaml': projectResource('trl/accelerate.yaml'),
    'trl/requirements.txt': projectResource('trl/requirements.txt'),
    'trl/config.yaml': configText(parts),
  }
}

const heading = [
  ' Written by Turnwise: every value is said, so that no default of the library decides anything.',
  ' Names of the first part belong to train.py, the others to TRL and transformers.',
].join('\n')

function configText({ run, data, exported, rewards, hasAdapter }: ProjectParts): string {
  const { quantities, values } = exported
  const isGenerating = 'num_generations' in values
  const own = {
    trainer: projectAlgorithm('trl', run.algorithm.id).toLowerCase(),
    train_file: '../data/train.jsonl',
    eval_file: data.heldOut.length === 0 ? null : '../data/eval.jsonl',
    starting_adapter: hasAdapter ? '../adapter' : null,
    prompts_are_marked_up: data.isMarkedUp,
    trajectories_per_update: quantities.perUpdate,
  }
  const places = {
    output_dir: 'output',
    run_name: run.name ?? path.basename(run.model),
    per_device_eval_batch_size: quantities.perDevice,
    ...(isGenerating
      ? { reward_weights: rewards.map(({ weight }) => weight) }
      : { max_length: quantities.contextLength }),
  }
  const names = isGenerating ? { reward_names: rewards.map(({ name }) => name) } : {}
  return `#${heading.replaceAll('\n', '\n#')}\n${yamlText({ ...own, ...names, ...values, ...places })}`
}

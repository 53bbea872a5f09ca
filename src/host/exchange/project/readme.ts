/** What a person must know who opens the folder on another machine. */
import { plural } from '#shared/plural.ts'
import { describeVersions } from '#host/version.ts'
import { toolTitles } from '#shared/tools.ts'
import { toolVersions, type ProjectTool } from '../tools.ts'
import type { ProjectParts } from './projectFiles.ts'

interface ReadmeFacts {
  readonly tool: ProjectTool
  readonly parts: ProjectParts
  readonly notes: readonly string[]
  readonly fixtures: number
}

export function readmeText(facts: ReadmeFacts): string {
  const { tool, parts, notes, fixtures } = facts
  const { run } = parts
  return [
    `# ${run.name ?? 'A run'}, for ${toolTitles[tool]}`,
    `Written by ${describeVersions()}. The settings were written for ${toolTitles[tool]} ${toolVersions[tool]}; \`${tool}/requirements.txt\` names the versions it was tried with. \`run.json\` is the run as Turnwise has it and decides where anything here is unclear.`,
    startText(tool),
    `The model is \`${run.model}\`. On another machine, copy that folder and change ${tool === 'trl' ? '`model_name_or_path` in `trl/config.yaml`' : '`pretrained_model_name_or_path` in `agilerl/manifest.yaml`'}.`,
    lengthText(facts),
    `## Differences from Turnwise\n\n${notes.length === 0 ? 'Nothing that was found.' : notes.map((note) => `- ${note}`).join('\n')}`,
    'Numbers will not be the same to the last digit in any case: samplers, random numbers and the order of rows are those of the library. Everything not listed has the same meaning and value there; each is written out in full, so that a default of another version decides nothing.',
    dataText(parts),
    ...(fixtures === 0 ? [] : [rewardsText(facts)]),
    ...(parts.hasAdapter
      ? [
          '`adapter/` is the LoRA adapter the training begins with, in the format of PEFT. Its rank, alpha and targets are used, not those of the settings.',
        ]
      : []),
    backText(facts),
  ]
    .join('\n\n')
    .concat('\n')
}

const startText = (tool: ProjectTool): string =>
  tool === 'trl'
    ? [
        '## Start',
        '```sh\ncd trl\npip install -r requirements.txt\naccelerate launch --config_file accelerate.yaml train.py\n```',
        'Any value of `config.yaml` can be changed behind that, such as `--max_steps 2`. On several GPUs, set `distributed_type: MULTI_GPU` and raise `num_processes` in `accelerate.yaml`. On processors `accelerate launch` starts one process whatever the file says; `torchrun --nproc_per_node 2 train.py --use_cpu true` starts two. `train.py` divides the batches, so that an update is still made of as many completions.',
      ].join('\n\n')
    : [
        '## Start',
        '```sh\ncd agilerl\npip install -r requirements.txt\npython train.py            # --vllm to generate with vLLM on a GPU, --steps 2 to try it\n```',
        'On several GPUs: `accelerate launch --config_file accelerate_zero2.yaml train.py`; `mini_batch_size` in `manifest.yaml` counts per device, so divide it by their number.',
      ].join('\n\n')

function lengthText({ tool, parts: { exported } }: ReadmeFacts): string {
  const { steps, perStep, perUpdate, updatesPerStep } = exported.quantities
  const counted =
    tool === 'trl'
      ? `TRL counts updates (\`max_steps\` ${steps * updatesPerStep})`
      : `AgileRL counts trajectories (\`max_steps\` ${steps * perStep})`
  return `The run has ${plural(steps, 'step')} of ${plural(perStep, 'trajectory', 'trajectories')}, ${plural(updatesPerStep, 'update')} each of ${perUpdate}. ${counted}.`
}

const dataText = ({ data }: ProjectParts): string =>
  [
    '## Data',
    `\`data/train.jsonl\` has ${plural(data.train.length, 'row')}${data.heldOut.length === 0 ? '' : `, \`data/eval.jsonl\` ${data.heldOut.length} that are never trained on`}. \`prompt_text\` is what the policy read here, chat markup included; \`row\` holds every column as JSON text, which rewards receive. Training with TRL stops at once where its tokens of a prompt are not those of the run.`,
  ].join('\n\n')

const rewardsText = ({ tool, fixtures }: ReadmeFacts): string =>
  [
    '## Rewards',
    `Rewards are the run's own code, run by Node 20.15 or later behind \`rewards/bridge.py\` (variable \`TURNWISE_NODE\`: its program). \`rewards/fixtures.jsonl\` holds ${plural(fixtures, 'sample')} as Turnwise scored them; \`python rewards/test_bridge.py\` fails where the port says otherwise. Run it once on the new machine.`,
    'Code of your own sees no file, no network and no clock there either, and its module is evaluated anew for every call; it has its limit of time, but none of memory.',
    tool === 'trl'
      ? 'Each named part is a reward function of TRL with its weight; a part that does not apply says None, as here.'
      : 'AgileRL takes one number: the weighted sum. Where no part applies, the completion counts 0 there; here it takes no part in learning.',
  ].join('\n\n')

function backText({ tool, parts }: ReadmeFacts): string {
  const folder = tool === 'trl' ? 'trl/output/adapter' : 'agilerl/output/adapter/actor'
  const settings = tool === 'trl' ? 'trl/config.yaml' : 'agilerl/manifest.yaml'
  return [
    '## Bringing results back',
    `\`${folder}\` is a LoRA adapter in the format of PEFT: import it in Turnwise as an adapter, or name it in \`adapter.initial\` of a config to go on from it. \`turnwise config import ${settings}\` turns changed settings back into a config.`,
    ...completionsText(tool, parts),
  ].join('\n\n')
}

/** TRL's RLOO keeps no files of completions. */
function completionsText(tool: ProjectTool, { rewards, run }: ProjectParts): string[] {
  if (rewards.length === 0 || (tool === 'trl' && run.algorithm.id === 'rloo')) return []
  const file = tool === 'trl' ? 'trl/output/completions/*.parquet' : 'agilerl/output/completions.jsonl'
  return [`\`${file}\` holds what was generated and what it earned; it can be imported as a data set.`]
}

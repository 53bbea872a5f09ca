import type { Finding } from '#shared/diagnosis.ts'
import { type DiagnosedRun, seriesOf, averageOf, evidence } from '../diagnosedRun.ts'
import { placeOn, rewardScaleOf } from '../rewardScale.ts'
import { change, lookAtSamples, percent, short } from '../rule.ts'

/** Prompts from which a share of them can be told. */
const enoughPrompts = 20
const nearlyAll = 0.9

/** Prompts say what the answer is: the policy learns to copy it. */
export function answerInPrompt(run: DiagnosedRun): Finding[] {
  const shares = seriesOf(run, 'prompts/answer_ratio')
  const heldOut = seriesOf(run, 'eval_prompts/answer_ratio').slice(-1)
  const share = averageOf(shares)
  if (shares.length * run.facts.promptsPerStep < enoughPrompts || !(share >= nearlyAll)) return []
  const isEverywhere = averageOf(heldOut) >= nearlyAll
  const elsewhere = isEverywhere
    ? ' Validation prompts state it too, so the eval reward does not show whether the policy can do without.'
    : heldOut.length > 0
      ? ' Validation prompts do not: the eval reward alone shows what it can do.'
      : ''
  return [
    {
      id: 'answer-in-prompt',
      severity: 'problem',
      words: `${percent(share)} of the training prompts state the answer of their row, so the policy learns to copy it instead of working it out.${elsewhere}`,
      evidence: [
        evidence('prompts/answer_ratio', shares),
        ...(heldOut.length > 0 ? [evidence('eval_prompts/answer_ratio', heldOut)] : []),
      ],
      proposals: [
        change('Leave the answer out of the prompt, in data.prompt or in the rows themselves.', {}),
        lookAtSamples('Read a prompt as the policy reads it.', shares.slice(-1)),
      ],
    },
  ]
}

const [steps, hardlyAny] = [10, 0.1]
/** Place on the reward scale: a policy that earns more copes with the markup, as base models do with plain text. */
const copes = 0.4

/** Prompts lack the markup that the model knows, or have another model's, and the policy does badly. */
export function otherTemplate(run: DiagnosedRun): Finding[] {
  const shares = seriesOf(run, 'prompts/template_ratio')
  const rewards = seriesOf(run, 'reward').slice(-steps)
  if (shares.length < steps || rewards.length < steps || !(averageOf(shares) < hardlyAny)) return []
  if (placeOn(rewardScaleOf(run), averageOf(rewards)) >= copes) return []
  return [
    {
      id: 'other-template',
      severity: 'warning',
      words: `The prompts are not in the model’s chat template: they do not open the answer as it does, or hold markers that the model reads as plain text. The reward is ${short(averageOf(rewards))}; unless this is a base model, it answers badly in any other markup.`,
      evidence: [evidence('prompts/template_ratio', shares), evidence('reward', rewards)],
      proposals: [
        change('Write data.prompt as messages, which the model’s own chat template marks up.', {}),
        lookAtSamples('Compare a prompt with the model’s template.', shares.slice(-1)),
      ],
    },
  ]
}

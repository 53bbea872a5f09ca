import {
  advantagesAtLevel,
  groupNeeds,
  groupSettings,
  groupSize,
  lossSettings,
} from './common/groupSettings.ts'
import { groupLoss } from './common/groupLoss.ts'
import { defineAlgorithm } from './define.ts'

/** Group Sequence Policy Optimization: GRPO with one importance ratio per trajectory. Zheng et al. 2025, arXiv:2507.18071. */
export const gspo = defineAlgorithm({
  id: 'gspo',
  title: 'GSPO',
  description: 'GRPO that clips whole trajectories instead of single tokens; steadier over several updates.',
  source: 'Zheng et al. 2025, arXiv:2507.18071',
  experience: 'rollout',
  groupSize,
  settings: groupSettings,
  needs: groupNeeds,
  advantages: (batch, settings) => advantagesAtLevel(batch, settings, 'trajectory'),
  minibatchLoss: (minibatch, settings) =>
    groupLoss(minibatch, lossSettings(settings, 'trajectory', 'clipped')),
})

/** Every golden function that exists here, one entry per function; and those that do not exist yet. */
import type { Contract } from '../contract.ts'
import { elementaryContracts } from './elementary.ts'
import { engineContracts } from './engine.ts'
import { groupContracts } from './group.ts'
import { optimizationContracts } from './optimization.ts'
import { reinforceContracts } from './reinforce.ts'
import { samplingContracts } from './sampling.ts'

export const contracts: ReadonlyMap<string, Contract> = new Map(
  Object.entries({
    ...elementaryContracts,
    ...engineContracts,
    ...groupContracts,
    ...optimizationContracts,
    ...reinforceContracts,
    ...samplingContracts,
  }),
)

/** Functions described in this folder's README that have no counterpart here yet. */
export const missing: readonly string[] = [
  'attention_mask_and_position_ids',
  'completion_mask',
  'dpo.loss',
  'hpo.mutate_parameter',
  'lora_config_equal',
  'lora_config_merge',
  'lora_rank_pad',
  'ppo.gae',
  'ppo.learn',
  'probe.grid',
  'probe.single_turn',
  'prompt_budget',
  'sft.loss',
  'stack_and_pad',
  'token_observation_wrapper',
  'tournament.elitism',
]

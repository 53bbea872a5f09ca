/** Every golden function that exists here, one entry per function; and those that do not exist yet. */
import type { Contract } from '../contract.ts'
import { adapterContracts } from './adapters.ts'
import { batchingContracts } from './batching.ts'
import { elementaryContracts } from './elementary.ts'
import { engineContracts } from './engine.ts'
import { environmentContracts } from './environments.ts'
import { evolutionContracts } from './evolution.ts'
import { groupContracts } from './group.ts'
import { optimizationContracts } from './optimization.ts'
import { ppoContracts } from './ppo.ts'
import { reinforceContracts } from './reinforce.ts'
import { samplingContracts } from './sampling.ts'
import { supervisedContracts } from './supervised.ts'

export const contracts: ReadonlyMap<string, Contract> = new Map(
  Object.entries({
    ...adapterContracts,
    ...batchingContracts,
    ...elementaryContracts,
    ...engineContracts,
    ...environmentContracts,
    ...evolutionContracts,
    ...groupContracts,
    ...optimizationContracts,
    ...ppoContracts,
    ...reinforceContracts,
    ...samplingContracts,
    ...supervisedContracts,
  }),
)

/** Functions described in this folder's README that have no counterpart here yet. */
export const missing: readonly string[] = []

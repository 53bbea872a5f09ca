/** The small functions every algorithm is made of. */
import { gradientsOf, sum, variable } from '#rl/algorithms/terms/differentiable.ts'
import { klDivergence } from '#rl/algorithms/terms/policyTerms.ts'
import { whitened } from '#rl/algorithms/terms/groups.ts'
import { poolByTurns, resolveAdvantageGranularity } from '#rl/algorithms/terms/turns.ts'
import {
  asFloatRows,
  asList,
  asMaskRows,
  asNumber,
  asObject,
  asTurnRows,
  exact,
  type GoldenCase,
  type JsonObject,
  underOnlyKey,
} from '../contract.ts'
import { samplingMismatch } from './learning.ts'

function kl(inputs: JsonObject): unknown {
  const reference = asFloatRows(inputs.lp_ref)
  const rows = asFloatRows(inputs.lp).map((row, i) => {
    const logp = variable(row)
    const settings = { klEstimator: 'k3-reversed', klClamp: null } as const
    const { kl: estimate } = klDivergence({ logp, refLogp: reference[i]! }, settings)
    return { estimate: estimate.data, gradient: gradientsOf(sum(estimate)).get(logp)! }
  })
  return { kl: rows.map(({ estimate }) => estimate), grad_lp: rows.map(({ gradient }) => gradient) }
}

function pool(inputs: JsonObject): unknown {
  const turnIds = asTurnRows(inputs.turn_ids)
  const reduction =
    inputs.reduction === 'final_value' ? 'final-value' : inputs.reduction === 'sum' ? 'sum' : 'mean'
  const turns = asNumber(inputs.num_turns)
  return {
    pooled: asFloatRows(inputs.values).map((row, i) => poolByTurns(row, turnIds[i]!, turns, reduction)),
  }
}

/** The description fixes no key: the list that is not the mask is what is whitened, and only inside the mask. */
function whiten(inputs: JsonObject, golden: GoldenCase): unknown {
  const { mask, action_mask: actionMask, ...rest } = inputs
  const values = Object.values(rest).find((value) => Array.isArray(value))
  const masks = asMaskRows(mask ?? actionMask)
  const rows = asFloatRows(values)
  const inside = whitened(rows.flatMap((row, i) => [...row].filter((_, t) => masks[i]![t] === 1)))
  const next = inside.values()
  return underOnlyKey(
    golden,
    rows.map((row, i) => row.map((value, t) => (masks[i]![t] === 1 ? next.next().value! : value))),
  )
}

const granularities = ['auto', 'token', 'turn'] as const

function resolve(inputs: JsonObject, golden: GoldenCase): unknown {
  const resolved = asList(inputs.cases).map((entry) => {
    const fields = asObject(entry)
    const setting = granularities.find((name) => Object.values(fields).includes(name))
    if (!setting) throw new Error('Expected a granularity.')
    return resolveAdvantageGranularity(setting, fields.turn_ids ? asTurnRows(fields.turn_ids) : [])
  })
  return underOnlyKey(golden, resolved)
}

export const elementaryContracts = {
  kl_k3: exact(kl),
  masked_whiten: exact(whiten),
  pool_by_turns: exact(pool),
  resolve_advantage_granularity: exact(resolve),
  sampling_mismatch: exact(samplingMismatch),
}

/** The small functions every algorithm is made of. */
import { klTerm } from '#rl/algorithms/losses/kl.ts'
import { maskedWhiten } from '#rl/algorithms/common/statistics.ts'
import { poolByTurns, resolveAdvantageGranularity } from '#rl/algorithms/common/turns.ts'
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
  const terms = asFloatRows(inputs.lp).map((row, i) =>
    Array.from(row, (lp, t) => klTerm(lp, reference[i]![t]!, { klEstimator: 'k3-reversed', klClamp: null })),
  )
  return {
    kl: terms.map((row) => row.map(({ value }) => value)),
    grad_lp: terms.map((row) => row.map(({ slope }) => slope)),
  }
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
  return underOnlyKey(golden, maskedWhiten(asFloatRows(values), asMaskRows(mask ?? actionMask)))
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

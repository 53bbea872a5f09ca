/** Padded batches and the room a prompt has. */
import { attentionMask, paddedRows, positionIds, unpaddedCompletionMask } from '../padding.ts'
import { promptBudget } from '#rl/training/rollOut.ts'
import {
  asList,
  asNumber,
  asNumbers,
  exact,
  type GoldenCase,
  type Json,
  type JsonObject,
  onlyValue,
  underOnlyKey,
} from '../contract.ts'

const padOf = (inputs: JsonObject): number => asNumber(inputs.pad_token_id ?? inputs.pad_id)
const idRows = (inputs: JsonObject): number[][] =>
  asList(inputs.ids ?? inputs.input_ids ?? inputs.completion_ids).map(asNumbers)

function completionMasks(inputs: JsonObject, golden: GoldenCase): unknown {
  const masks = idRows(inputs).map((ids) =>
    unpaddedCompletionMask(ids, asNumber(inputs.prompt_len), padOf(inputs)),
  )
  return underOnlyKey(golden, masks)
}

function attention(inputs: JsonObject): unknown {
  const masks = idRows(inputs).map((ids) => attentionMask(ids, padOf(inputs)))
  return { attention_mask: masks, position_ids: masks.map(positionIds) }
}

/** Each list of blocks of rows becomes one rectangle; what fills it is told by `padding_values`, else by its name. */
function stackAndPad(inputs: JsonObject, { expected }: GoldenCase): unknown {
  const nested = inputs.experiences ?? inputs.inputs ?? inputs.tensors
  const fields = Array.isArray(nested)
    ? nested.map((value: Json, i) => [String(i), value] as const)
    : Object.entries(inputs).filter(([, value]) => depthOf(value) === 3)
  const fills = inputs.padding_values === undefined ? [] : asList(inputs.padding_values).map(Number)
  const answers = fields.map(([name, blocks], i) => {
    const rows = asList(blocks).flatMap((block) => asList(block).map(asNumbers))
    return [name, paddedRows(rows, fills[i] ?? fillOf(name, inputs))] as const
  })
  const names = Object.keys(expected)
  if (names.length === 1 && answers.length !== 1) return { [names[0]!]: answers.map(([, rows]) => rows) }
  return Object.fromEntries(
    answers.map(([name, rows], i) => [names.includes(name) ? name : (names[i] ?? name), rows]),
  )
}

const depthOf = (value: Json | undefined): number =>
  Array.isArray(value) ? 1 + depthOf(value[0] as Json) : 0

function fillOf(name: string, inputs: JsonObject): number {
  if (name.includes('turn')) return -1
  return name.includes('ids') ? padOf(inputs) : 0
}

function budgets(inputs: JsonObject, golden: GoldenCase): unknown {
  const answers = asList(onlyValue(inputs)).map((entry) => {
    const [contextLength, maxNewTokens = null] = asList(entry)
    return promptBudget(asNumber(contextLength), maxNewTokens === null ? null : asNumber(maxNewTokens))
  })
  return underOnlyKey(golden, answers)
}

export const batchingContracts = {
  completion_mask: exact(completionMasks),
  attention_mask_and_position_ids: exact(attention),
  stack_and_pad: exact(stackAndPad),
  prompt_budget: exact(budgets),
}

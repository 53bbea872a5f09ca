/** The two places where numbers of a model leave the engine, computed by ONNX Runtime in f64. */
import { Tensor } from '#engine/runtime/onnxRuntime.ts'
import { gradients } from '#engine/ops/gradient.ts'
import type { Value } from '#engine/graph/value.ts'
import { input } from '#engine/graph/value.ts'
import { loraScale } from '#engine/models/config.ts'
import { addLora } from '#engine/models/lora.ts'
import { softmax } from '#engine/ops/activation.ts'
import { add, log, mul } from '#engine/ops/arithmetic.ts'
import { matmul } from '#engine/ops/matmul.ts'
import { dotLastAxis } from '#engine/ops/reduce.ts'
import { vocabularyHead } from '#engine/ops/vocabularyHead.ts'
import { Session, int64s } from '#engine/runtime/session.ts'
import { asFloatRows, asList, asNumber, asNumbers, exact, type JsonObject } from '../contract.ts'

type Rows = readonly Float64Array[]

const matrix = (rows: Rows) =>
  new Tensor('float64', Float64Array.from(rows.flatMap((row) => [...row])), [
    rows.length,
    rows[0]?.length ?? 0,
  ])

const rowsOf = (values: ArrayLike<number>, width: number): number[][] =>
  Array.from({ length: values.length / width }, (_, row) =>
    Array.from({ length: width }, (_, at) => values[row * width + at]!),
  )

async function compute(program: Readonly<Record<string, Value>>, feeds: Readonly<Record<string, Tensor>>) {
  const device = { kind: 'cpu', threads: 1, deviceId: 0 } as const
  using session = await Session.create({ name: 'golden', program, device, purpose: 'learn' })
  return await session.run(feeds)
}

async function loraLinear(inputs: JsonObject): Promise<unknown> {
  const [x, weight] = [asFloatRows(inputs.x), asFloatRows(inputs.weight)]
  const [a, b] = [asFloatRows(inputs.lora_A), asFloatRows(inputs.lora_B)]
  const cotangents = asFloatRows(inputs.cotangent)
  const [rank, width, out] = [asNumber(inputs.r), x[0]!.length, weight.length]
  const scale = loraScale({ rank, alpha: asNumber(inputs.lora_alpha), rsLora: false, targets: [] })
  const values = {
    x: input('x', 'float64', ['N', width]),
    weight: input('weight', 'float64', [out, width]),
    bias: input('bias', 'float64', [out]),
    a: input('a', 'float64', [rank, width]),
    b: input('b', 'float64', [out, rank]),
    cotangent: input('cotangent', 'float64', ['N', out]),
  }
  const base = add(matmul(values.x, values.weight, { transB: true }), values.bias)
  const y = addLora(base, values.x, { a: values.a, b: values.b, scale })
  const [gradA, gradB] = gradients([{ value: y, cotangent: values.cotangent }], [values.a, values.b])
  const found = await compute(
    { y, gradA: gradA!, gradB: gradB! },
    {
      x: matrix(x),
      weight: matrix(weight),
      bias: new Tensor('float64', Float64Array.from(asNumbers(inputs.bias)), [out]),
      a: matrix(a),
      b: matrix(b),
      cotangent: matrix(cotangents),
    },
  )
  return {
    y: rowsOf(found['y']!, out),
    grad_A: rowsOf(found['gradA']!, width),
    grad_B: rowsOf(found['gradB']!, rank),
  }
}

export interface HeadSlopes {
  /** [B][L−1] */
  readonly logprobs: readonly (readonly number[])[]
  /** [B][L][D] */
  readonly gradHidden: readonly (readonly (readonly number[])[])[]
  /** [V][D] */
  readonly gradWeight: readonly (readonly number[])[]
  /** [V] */
  readonly gradBias: readonly number[]
}

/**
 * Log-probabilities of `input_ids` under the head of a case, and the gradients of Σ cotangent · log-probability;
 * cotangents: [B][L−1]. Our heads have no bias: it enters as one more column of the table, which meets a hidden state's
 * constant 1.
 */
export async function headGradients(
  inputs: JsonObject,
  temperature: number,
  cotangents: Rows,
): Promise<HeadSlopes> {
  const hidden = asList(inputs.hidden).map(asFloatRows) // [B][L][D]
  const ids = asList(inputs.input_ids).map(asNumbers)
  const weight = asFloatRows(inputs.lm_head_weight)
  const bias =
    inputs.lm_head_bias === undefined || inputs.lm_head_bias === null
      ? weight.map(() => 0)
      : asNumbers(inputs.lm_head_bias)
  const [length, width] = [ids[0]!.length, weight[0]!.length + 1]
  const predicting = hidden.flatMap((rows) => rows.slice(0, -1).map((row) => Float64Array.from([...row, 1])))
  const targets = ids.flatMap((row) => row.slice(1))
  const found = await compute(headProgram(width, weight.length), {
    hidden: matrix(predicting),
    table: matrix(weight.map((row, id) => Float64Array.from([...row, bias[id]!]))),
    targets: int64s(Int32Array.from(targets), [predicting.length]),
    isTarget: matrix(targets.map((target) => Float64Array.from(weight, (_, id) => (id === target ? 1 : 0)))),
    inverseTemperature: new Tensor('float64', [1 / temperature], [1]),
    cotangent: matrix(cotangents.flatMap((row) => Array.from(row, (value) => Float64Array.of(value)))),
  })
  const gradRows = rowsOf(found['gradHidden']!, width).map((row) => row.slice(0, -1))
  const gradTable = rowsOf(found['gradTable']!, width)
  const nothing = new Array<number>(width - 1).fill(0)
  return {
    logprobs: rowsOf(found['logprob']!, length - 1),
    // The last hidden state predicts nothing.
    gradHidden: hidden.map((_, b) => [...gradRows.slice(b * (length - 1), (b + 1) * (length - 1)), nothing]),
    gradWeight: gradTable.map((row) => row.slice(0, -1)),
    gradBias: gradTable.map((row) => row.at(-1)!),
  }
}

/**
 * The head's own gradient rule for hidden states. Its rule for the table needs a one-hot in the table's type, which ONNX
 * Runtime has in f32 only, so that gradient comes from the same function written out in single operations.
 */
function headProgram(width: number, vocabulary: number): Record<string, Value> {
  const [hidden, table] = [
    input('hidden', 'float64', ['N', width]),
    input('table', 'float64', [vocabulary, width]),
  ]
  const cotangent = input('cotangent', 'float64', ['N', 1])
  const tempered = mul(hidden, input('inverseTemperature', 'float64', [1]))
  const targets = input('targets', 'int64', ['N'])
  const { logprob } = vocabularyHead({ hidden: tempered, table, targets })
  const logprobs = log(softmax(matmul(tempered, table, { transB: true })))
  const written = dotLastAxis(input('isTarget', 'float64', ['N', vocabulary]), logprobs)
  const [gradHidden] = gradients([{ value: logprob, cotangent }], [hidden])
  const [gradTable] = gradients([{ value: written, cotangent }], [table])
  return { logprob, gradHidden: gradHidden!, gradTable: gradTable! }
}

async function logprobsFromHidden(inputs: JsonObject): Promise<unknown> {
  const { logprobs, gradHidden } = await headGradients(
    inputs,
    asNumber(inputs.temperature),
    asFloatRows(inputs.cotangent),
  )
  return { log_probs: logprobs, grad_hidden: gradHidden }
}

export const engineContracts = {
  lora_linear: exact(loraLinear),
  logprobs_from_hidden: exact(logprobsFromHidden),
}

/** The mixture of experts that a block has in the place of an MLP. Shazeer et al. 2017, arXiv:1701.06538. */
import { type Dim, product } from '../graph/shape.ts'
import { input, type Value } from '../graph/value.ts'
import { clampedSwiglu, softmax, swiglu } from '../ops/activation.ts'
import { whereAny } from '../ops/choice.ts'
import { add, mul } from '../ops/arithmetic.ts'
import { addByExpert, type ExpertRows, expertRows, fromExperts, largest, toExperts } from '../ops/experts.ts'
import { gatherElements } from '../ops/gather.ts'
import { reshape, split, splitSizes } from '../ops/layout.ts'
import { matmul } from '../ops/matmul.ts'
import { reduceSum } from '../ops/reduce.ts'
import type { Experts } from './expertConfig.ts'
import type { LayerScope, Part } from './layerScope.ts'
import { type ExpertPaths, expertPaths, expertShapes, routerBias } from './source.ts'

/** Among a layer's activations: the score of each expert, [N, E]. */
export const routerScores = 'scores'

/** Graph input [N, k] i64 of a layer that replays experts: those of each token, −1 where its router chooses. */
export const routesName = 'routes'

/** Takes the experts of that input, where it names them, in place of the router's choice. */
export const replayed = (choice: Value): Value => whereAny(input(routesName, 'int64', choice.shape), choice)

/** x [N, D] → [N, D] */
export function expertPart(x: Value, experts: Experts, layer: LayerScope): Part {
  const { count, chosen, clamp } = experts
  const { router, gates, down, biases } = expertPaths[experts.form]
  const shapes = expertShapes(experts, layer.config.hiddenSize)
  const routed = matmul(x, layer.vector(router), { transB: true })
  const scores = experts.biased ? add(routed, layer.vector(routerBias(router))) : routed
  const choice = layer.route(largest(scores, chosen))
  const rows = expertRows(choice, count)
  const sorted = toExperts(x, rows)
  const through = (nameOf: ExpertPaths['down'], rowsIn: Value, width: number, bias: string | undefined) => {
    const y = layer.expert(nameOf, rowsIn, rows, width)
    return experts.biased && bias !== undefined ? addByExpert(y, layer.vector(bias), rows) : y
  }
  const entering = gates.map((nameOf, at) => through(nameOf, sorted, shapes.gate[0], biases?.gates[at]))
  const [gate, up] = gateAndUp(entering, experts).map((y) => ofTokens(y, choice)) as [Value, Value]
  const [opened, risen] = [ofRows(gate, choice), ofRows(up, choice)]
  const entered = clamp === null ? swiglu(opened, risen) : clampedSwiglu(opened, risen, clamp)
  const results = ofTokens(through(down, entered, shapes.down[0], biases?.down), choice)
  return {
    output: weighed(ofRows(results, choice), weights(scores, choice, experts), rows),
    // Saved scores choose the same experts again, to the rows of which the rest belongs.
    activations: { [routerScores]: scores, gate, up, results },
  }
}

/** Gate and up of experts, [M, F] each, from the products with its matrices. */
function gateAndUp(products: readonly Value[], { form, width }: Experts): readonly Value[] {
  const [both, other] = products as readonly [Value, Value?]
  if (other !== undefined) return [both, other]
  if (form !== 'paired') return splitSizes(both, -1, [width, width])
  const [rows] = both.shape as readonly [Dim]
  return split(reshape(both, [rows, width, 2]), -1, 2).map((y) => reshape(y, [rows, width]))
}

/** Sorted rows [N·k, W] under as many rows as there are tokens, [N, k·W], in which activations are saved. */
const ofTokens = (y: Value, choice: Value): Value => {
  const [tokens, each] = choice.shape as readonly [Dim, number]
  return reshape(y, [tokens, each * (y.shape[1] as number)])
}

/** The sorted rows again, [N·k, W]. */
const ofRows = (y: Value, choice: Value): Value => {
  const [tokens, each] = choice.shape as readonly [Dim, number]
  return reshape(y, [product([tokens, each]), (y.shape[1] as number) / each])
}

/** Σ of a token's results, times their weights. results [M, D], weights [N, k] → [N, D]. */
function weighed(results: Value, weights: Value, rows: ExpertRows): Value {
  const [tokens, each] = weights.shape as readonly [Dim, number]
  const width = results.shape[1] as Dim
  const apart = reshape(fromExperts(results, rows), [tokens, each, width])
  return reshape(reduceSum(mul(apart, reshape(weights, [tokens, each, 1])), [1]), [tokens, width])
}

/** Weights of the chosen experts, [N, k], from the scores of all, [N, E]. */
const weights = (scores: Value, choice: Value, { weighed: among }: Experts): Value =>
  among === 'all' ? gatherElements(softmax(scores), choice) : softmax(gatherElements(scores, choice))

/**
 * What cards of NVIDIA’s do with factors in f32 where nobody forbids it: they read them in TF32, 11 significant bits of 24. Planted by
 * `vi.mock('#engine/graph/onnxMessages.ts', roundingFactors)`, before every product of every program.
 */
import type * as Messages from '#engine/graph/onnxMessages.ts'
import type { ProtobufWriter } from '#shared/protobuf.ts'
import { resolve } from '#engine/graph/substitute.ts'
import type { Value } from '#engine/graph/value.ts'

/** How many significant bits factors keep; each test says so, since modules are mocked for a whole file. */
export const factors = { bits: 24 }

const products = new Set(['MatMul', 'FusedMatMul', 'Gemm'])
/** x·s − (x·s − x) with s = 2ⁿ + 1 is x rounded to 24 − n bits (Veltkamp 1968). */
const splitter = () => 2 ** (24 - factors.bits) + 1

export async function roundingFactors(original: () => Promise<typeof Messages>): Promise<typeof Messages> {
  const messages = await original()
  const { nameOf, writeNode } = messages
  return {
    ...messages,
    writeNode(graph, node, names) {
      const isProduct = products.has(node.op.type) && node.outputs[0]?.dtype === 'float32'
      if (factors.bits === 24 || !isProduct) {
        writeNode(graph, node, names)
        return
      }
      const given = new Map(names)
      const product = nameOf(names, node.outputs[0] as Value)
      const rounded = node.inputs.slice(0, 2).map((factor, index) => {
        const copy = { ...resolve(factor as Value) }
        const called = `${product} factor ${String(index)}`
        given.set(copy, called)
        writeRounding(graph, nameOf(names, factor as Value), called)
        return copy
      })
      const inputs = [...rounded, ...node.inputs.slice(2)]
      writeNode(graph, { ...node, inputs }, given)
    },
  }
}

function writeRounding(graph: ProtobufWriter, from: string, to: string): void {
  const [factor, scaled, rest] = [`${to} splitter`, `${to} scaled`, `${to} rest`]
  graph.message(1, (node) =>
    node
      .string(2, factor)
      .string(4, 'Constant')
      .message(5, (attribute) => attribute.string(1, 'value_float').float(2, splitter()).integer(20, 1)),
  )
  const write = (type: string, a: string, b: string, result: string) =>
    graph.message(1, (node) => node.string(1, a).string(1, b).string(2, result).string(4, type))
  write('Mul', from, factor, scaled)
  write('Sub', scaled, from, rest)
  write('Sub', scaled, rest, to)
}

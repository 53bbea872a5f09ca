/**
 * Writes an expression graph as an ONNX model. Field numbers are those of onnx.proto (IR version 10, opset 21).
 * Weights on disk become external data, so a written graph holds no parameters.
 */
import { basename, dirname } from 'node:path'
import { ProtobufWriter } from './protobuf.ts'
import type { Shape } from './shape.ts'
import { resolve } from './substitute.ts'
import type {
  Attribute,
  ConstantNode,
  Dtype,
  InputNode,
  Node,
  OpNode,
  TensorType,
  Value,
  WeightNode,
} from './value.ts'
import { topologicalOrder } from './value.ts'

const IR_VERSION = 10
const OPSET = 21
const DATA_TYPES: Record<Dtype, number> = { float32: 1, uint8: 2, int64: 7, bool: 9, float64: 11 }
const ATTRIBUTE_TYPES = { float: 1, int: 2, ints: 7 }

export interface OnnxModel {
  readonly bytes: Uint8Array
  readonly inputs: readonly (TensorType & { readonly name: string })[]
  readonly outputs: readonly string[]
  /** The one folder that holds all external data; null when there is none. */
  readonly externalFolder: string | null
}

/** Writes what is needed to compute `outputs`; inputs that nothing reads are left out. */
export function writeOnnx(name: string, outputs: Readonly<Record<string, Value>>): OnnxModel {
  const resolved = Object.entries(outputs).map(([outputName, value]) => [outputName, resolve(value)] as const)
  const nodes = topologicalOrder(
    resolved.map(([, value]) => value),
    true,
  )
  const names = nameValues(nodes, resolved)
  const inputs = nodes.filter((node): node is InputNode => node.kind === 'input')
  const weights = nodes.filter((node): node is WeightNode => node.kind === 'weight')
  const externalFolder = commonFolder(weights)

  const writer = new ProtobufWriter().integer(1, IR_VERSION).string(2, 'turnwise')
  writer.message(7, (graph) => {
    for (const node of nodes) if (node.kind === 'op') writeNode(graph, node, names)
    aliases(resolved, names).forEach(([from, to]) => writeIdentity(graph, from, to))
    graph.string(2, name)
    for (const node of nodes) {
      if (node.kind === 'constant') graph.message(5, (tensor) => writeConstant(tensor, node, names))
      if (node.kind === 'weight') graph.message(5, (tensor) => writeWeight(tensor, node, names))
    }
    for (const {
      name: inputName,
      outputs: [value],
    } of inputs)
      if (value) writeValueInfo(graph, 11, inputName, value)
    for (const [outputName, value] of resolved) writeValueInfo(graph, 12, outputName, value)
  })
  for (const [domain, version] of [
    ['', OPSET],
    ['com.microsoft', 1],
  ] as const) {
    writer.message(8, (opset) => opset.string(1, domain).integer(2, version))
  }
  return {
    bytes: writer.finish(),
    inputs: inputs.flatMap(({ name: inputName, outputs: [value] }) =>
      value ? [{ name: inputName, dtype: value.dtype, shape: value.shape }] : [],
    ),
    outputs: Object.keys(outputs),
    externalFolder,
  }
}

/** External data must lie below the folder that the session is given: the runtime refuses other paths. */
function commonFolder(weights: readonly WeightNode[]): string | null {
  const folders = new Set(weights.map(({ file }) => dirname(file)))
  if (folders.size > 1) throw new Error(`Weights lie in several folders: ${[...folders].join(', ')}.`)
  return [...folders][0] ?? null
}

type Names = ReadonlyMap<Value, string>
type NamedOutputs = readonly (readonly [string, Value])[]

function nameValues(nodes: readonly Node[], outputs: NamedOutputs): Names {
  const names = new Map<Value, string>()
  for (const [outputName, value] of outputs) {
    if (value.node.kind === 'op' && !names.has(value)) names.set(value, outputName)
  }
  let counter = 0
  for (const node of nodes) {
    for (const value of node.outputs) {
      if (names.has(value) || node.kind === 'composite') continue
      names.set(
        value,
        node.kind === 'input' || node.kind === 'weight' ? node.name : `value_${String(counter++)}`,
      )
    }
  }
  return names
}

const nameOf = (names: Names, value: Value): string => {
  const name = names.get(resolve(value))
  if (name === undefined) throw new Error('A value of the graph has no name.')
  return name
}

/** Outputs that are an input, a constant or another output under a second name. */
const aliases = (outputs: NamedOutputs, names: Names): (readonly [string, string])[] =>
  outputs
    .map(([outputName, value]) => [nameOf(names, value), outputName] as const)
    .filter(([from, to]) => from !== to)

function writeIdentity(graph: ProtobufWriter, from: string, to: string): void {
  graph.message(1, (node) =>
    node.string(1, from).string(2, to).string(3, `identity_${to}`).string(4, 'Identity'),
  )
}

function writeNode(graph: ProtobufWriter, node: OpNode, names: Names): void {
  graph.message(1, (writer) => {
    for (const read of node.inputs) writer.string(1, read ? nameOf(names, read) : '')
    for (const output of node.outputs) writer.string(2, nameOf(names, output))
    writer.string(3, `${node.op.name}_${nameOf(names, node.outputs[0] as Value)}`).string(4, node.op.type)
    for (const [key, attribute] of Object.entries(node.attributes)) {
      writer.message(5, (inner) => writeAttribute(inner, key, attribute))
    }
    if (node.op.domain) writer.string(7, node.op.domain)
  })
}

function writeAttribute(writer: ProtobufWriter, name: string, attribute: Attribute): void {
  writer.string(1, name)
  if ('float' in attribute) writer.float(2, attribute.float).integer(20, ATTRIBUTE_TYPES.float)
  else if ('int' in attribute) writer.integer(3, attribute.int).integer(20, ATTRIBUTE_TYPES.int)
  else {
    for (const item of attribute.ints) writer.integer(8, item)
    writer.integer(20, ATTRIBUTE_TYPES.ints)
  }
}

function writeTensorHeader(writer: ProtobufWriter, value: Value, name: string): void {
  for (const dim of value.shape) writer.integer(1, dim as number)
  writer.integer(2, DATA_TYPES[value.dtype]).string(8, name)
}

function writeConstant(writer: ProtobufWriter, node: ConstantNode, names: Names): void {
  const value = node.outputs[0] as Value
  writeTensorHeader(writer, value, nameOf(names, value))
  writer.bytes(9, new Uint8Array(node.data.buffer, node.data.byteOffset, node.data.byteLength))
}

function writeWeight(writer: ProtobufWriter, node: WeightNode, names: Names): void {
  const value = node.outputs[0] as Value
  writeTensorHeader(writer, value, nameOf(names, value))
  const entries = {
    location: basename(node.file),
    offset: String(node.offset),
    length: String(node.byteLength),
  }
  for (const [key, text] of Object.entries(entries))
    writer.message(13, (entry) => entry.string(1, key).string(2, text))
  writer.integer(14, 1)
}

function writeValueInfo(
  graph: ProtobufWriter,
  field: number,
  name: string,
  { dtype, shape }: TensorType,
): void {
  graph.message(field, (info) =>
    info.string(1, name).message(2, (type) =>
      type.message(1, (tensor) => {
        tensor.integer(1, DATA_TYPES[dtype])
        tensor.message(2, (dims) => writeShape(dims, shape))
      }),
    ),
  )
}

function writeShape(writer: ProtobufWriter, shape: Shape): void {
  for (const dim of shape) {
    writer.message(1, (entry) => (typeof dim === 'number' ? entry.integer(1, dim) : entry.string(2, dim)))
  }
}

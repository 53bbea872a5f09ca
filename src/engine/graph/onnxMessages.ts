/**
 * Builds the messages of onnx.proto that a graph consists of, one function each. Field numbers are those of onnx.proto.
 */
import { basename } from 'node:path'
import type { ProtobufWriter } from '#shared/protobuf.ts'
import type { Shape } from './shape.ts'
import { resolve } from './substitute.ts'
import type { Attribute, ConstantNode, Dtype, OpNode, TensorType, Value, WeightNode } from './value.ts'

const DATA_TYPES: Record<Dtype, number> = {
  float32: 1,
  uint8: 2,
  int8: 3,
  int32: 6,
  int64: 7,
  bool: 9,
  float16: 10,
  float64: 11,
  bfloat16: 16,
  uint4: 21,
}
const ATTRIBUTE_TYPES = { float: 1, int: 2, text: 3, tensor: 4, graph: 5, ints: 7 }

export type Names = ReadonlyMap<Value, string>

export const nameOf = (names: Names, value: Value): string => {
  const name = names.get(resolve(value))
  if (name === undefined) throw new Error('A value of the graph has no name.')
  return name
}

export function writeIdentity(graph: ProtobufWriter, from: string, to: string): void {
  graph.message(1, (node) =>
    node.string(1, from).string(2, to).string(3, `identity_${to}`).string(4, 'Identity'),
  )
}

export function writeNode(graph: ProtobufWriter, node: OpNode, names: Names): void {
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
  else if ('text' in attribute) writer.string(4, attribute.text).integer(20, ATTRIBUTE_TYPES.text)
  else {
    for (const item of attribute.ints) writer.integer(8, item)
    writer.integer(20, ATTRIBUTE_TYPES.ints)
  }
}

function writeTensorHeader(writer: ProtobufWriter, value: Value, name: string): void {
  for (const dim of value.shape) writer.integer(1, dim as number)
  writer.integer(2, DATA_TYPES[value.dtype]).string(8, name)
}

export function writeConstant(writer: ProtobufWriter, node: ConstantNode, names: Names): void {
  const value = node.outputs[0] as Value
  writeTensorHeader(writer, value, nameOf(names, value))
  writer.bytes(9, new Uint8Array(node.data.buffer, node.data.byteOffset, node.data.byteLength))
}

export function writeWeight(writer: ProtobufWriter, node: WeightNode): void {
  writeTensorHeader(writer, node.outputs[0] as Value, node.name)
  const entries = {
    location: basename(node.file),
    offset: String(node.offset),
    length: String(node.byteLength),
  }
  for (const [key, text] of Object.entries(entries))
    writer.message(13, (entry) => entry.string(1, key).string(2, text))
  writer.integer(14, 1)
}

export function writeValueInfo(
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

/** An `If` whose condition is the value `condition`; both branches are graphs written by the caller. */
export function writeIf(
  graph: ProtobufWriter,
  {
    name,
    condition,
    outputs,
  }: { readonly name: string; readonly condition: string; readonly outputs: readonly string[] },
  branches: Readonly<Record<'then_branch' | 'else_branch', (inner: ProtobufWriter) => void>>,
): void {
  graph.message(1, (node) => {
    node.string(1, condition)
    for (const output of outputs) node.string(2, output)
    node.string(3, name).string(4, 'If')
    for (const [key, write] of Object.entries(branches)) {
      node.message(5, (attribute) => {
        attribute.string(1, key).message(6, write).integer(20, ATTRIBUTE_TYPES.graph)
      })
    }
  })
}

/**
 * A `Loop` whose body is a graph written by the caller: iteration number, condition and carried values in; condition,
 * carried values and what is stacked out.
 */
export function writeLoop(
  graph: ProtobufWriter,
  {
    name,
    turns,
    initial,
    outputs,
  }: {
    readonly name: string
    readonly turns: string
    readonly initial: readonly string[]
    readonly outputs: readonly string[]
  },
  body: (inner: ProtobufWriter) => void,
): void {
  graph.message(1, (node) => {
    for (const read of [turns, '', ...initial]) node.string(1, read)
    for (const output of outputs) node.string(2, output)
    node.string(3, name).string(4, 'Loop')
    node.message(5, (attribute) => {
      attribute.string(1, 'body').message(6, body).integer(20, ATTRIBUTE_TYPES.graph)
    })
  })
}

/** A node that gives a float tensor without elements. */
export function writeEmpty(graph: ProtobufWriter, name: string): void {
  graph.message(1, (node) => {
    node.string(2, name).string(3, `empty ${name}`).string(4, 'Constant')
    node.message(5, (attribute) => {
      attribute.string(1, 'value').message(5, (tensor) => tensor.integer(1, 0).integer(2, DATA_TYPES.float32))
      attribute.integer(20, ATTRIBUTE_TYPES.tensor)
    })
  })
}

/** condition = (selector equals index); both are i64 [1]. */
export function writeIsSelected(
  graph: ProtobufWriter,
  { selector, index, condition }: Readonly<Record<'selector' | 'index' | 'condition', string>>,
): void {
  graph.message(1, (node) => {
    node.string(1, selector).string(1, index).string(2, condition).string(3, condition).string(4, 'Equal')
  })
}

/** An i64 [1] constant. */
export function writeInteger(tensor: ProtobufWriter, name: string, value: number): void {
  const bytes = new Uint8Array(BigInt64Array.of(BigInt(value)).buffer)
  tensor.integer(1, 1).integer(2, DATA_TYPES.int64).string(8, name).bytes(9, bytes)
}

/** An output whose shape depends on which program ran. */
export function writeUnshapedOutput(graph: ProtobufWriter, name: string): void {
  graph.message(12, (info) =>
    info
      .string(1, name)
      .message(2, (type) => type.message(1, (tensor) => tensor.integer(1, DATA_TYPES.float32))),
  )
}

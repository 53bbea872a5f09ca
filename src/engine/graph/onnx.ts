/**
 * Writes an expression graph as an ONNX model. Field numbers are those of onnx.proto (IR version 10, opset 21).
 * Weights on disk become external data, so a written graph holds no parameters.
 */
import { dirname } from 'node:path'
import { ProtobufWriter } from '#shared/protobuf.ts'
import {
  type Names,
  nameOf,
  writeConstant,
  writeIdentity,
  writeIf,
  writeLoop,
  writeNode,
  writeValueInfo,
  writeWeight,
} from './onnxMessages.ts'
import { sameShape, showShape } from './shape.ts'
import { lower, resolve } from './substitute.ts'
import type { ChoiceNode, InputNode, LoopNode, Node, TensorType, Value, WeightNode } from './value.ts'
import { outputOf, topologicalOrder } from './value.ts'

const IR_VERSION = 10
const OPSET = 21

export interface OnnxModel {
  readonly bytes: Uint8Array
  readonly inputs: readonly (TensorType & { readonly name: string })[]
  readonly outputs: readonly string[]
  /** Weights that are fed beside the inputs, where the dialect says so. */
  readonly fedWeights: readonly WeightNode[]
  /** Single folder that holds all external data; null when there is none. */
  readonly externalFolder: string | null
}

/** Named outputs. */
export type Program = Readonly<Record<string, Value>>

export interface Dialect {
  /** True if the provider has kernels for the extensions that can also be written without them (`Op.lowered`). */
  readonly extended: boolean
  /**
   * Weights are inputs, fed with tensors that lie on the device: several sessions then share them. Elsewhere they are
   * mapped from their files.
   */
  readonly feedsWeights: boolean
}

export const cpuDialect: Dialect = { extended: true, feedsWeights: false }

/** Writes everything needed to compute `outputs`; inputs that nothing reads are left out. */
export function writeOnnx(name: string, outputs: Program, dialect = cpuDialect): OnnxModel {
  const body = bodyOf(outputs, '', { dialect, inputNames: new Map() })
  return finishModel(
    name,
    [body],
    (graph) => {
      writeBody(graph, body)
      for (const [outputName, value] of body.outputs) writeValueInfo(graph, 12, outputName, value)
    },
    { outputs: Object.keys(outputs), dialect },
  )
}

/** Nodes of one program, and the names of its values. */
export interface Body {
  readonly nodes: readonly Node[]
  readonly names: Names
  readonly outputs: NamedOutputs
  /** Inputs that are not the model's, under the names by which the body has them. */
  readonly own: ReadonlyMap<Node, string>
  /** The bodies inside it: the turn of each of its loops, and both of each of its choices. */
  readonly inner: ReadonlyMap<Node, readonly Body[]>
}

/** The inputs that a body shares with others. */
export const inputsOf = ({ nodes, own }: Body): InputNode[] =>
  nodes.filter((node): node is InputNode => node.kind === 'input' && !own.has(node))

export interface Writing {
  readonly dialect: Dialect
  /** Model-level names of the inputs that are not called by their own name there. */
  readonly inputNames: ReadonlyMap<Node, string>
}

export function bodyOf(
  program: Program,
  prefix: string,
  writing: Writing,
  own: Body['own'] = new Map(),
): Body {
  const { dialect, inputNames } = writing
  const resolved = Object.values(program).map(resolve)
  const written = dialect.extended ? resolved : lower(resolved)
  const outputs = Object.keys(program).map((name, index) => [name, written[index] as Value] as const)
  const nodes = topologicalOrder(
    outputs.map(([, value]) => value),
    true,
  )
  const given = new Map([...inputNames, ...own])
  const names = nameValues(nodes, outputs, { prefix, given })
  const inner = new Map(
    nodes.flatMap((node): [Node, Body[]][] => {
      if (node.kind === 'loop') return [[node, [turnOf(node, names, writing)]]]
      return node.kind === 'choice' ? [[node, choicesOf(node, names, writing)]] : []
    }),
  )
  return { nodes, names, outputs, own, inner }
}

/** A turn of a loop. It reads the values around it by the names that they have there. */
function turnOf({ inputs, outputs, body }: LoopNode, names: Names, writing: Writing): Body {
  const prefix = `${nameOf(names, outputs[0] as Value)}/`
  const { turn, reads, carried, next, stacked } = body
  const own = [
    [turn.node, `${prefix}turn`],
    ...reads.map(({ node }, index) => [node, nameOf(names, inputs[1 + index] as Value)] as const),
    ...carried.map(({ node }, index) => [node, `${prefix}carried ${String(index)}`] as const),
  ] as const
  return bodyOf(resultsOf([...next, ...stacked], prefix), prefix, writing, new Map(own))
}

const resultsOf = (values: readonly Value[], prefix: string): Program =>
  Object.fromEntries(values.map((value, index) => [`${prefix}result ${String(index)}`, value]))

/** Both bodies of a choice, which read the values around it by the names that they have there. */
function choicesOf({ inputs, outputs, bodies }: ChoiceNode, names: Names, writing: Writing): Body[] {
  const own = new Map(
    bodies.reads.map(({ node }, index) => [node, nameOf(names, inputs[1 + index] as Value)]),
  )
  return (['met', 'otherwise'] as const).map((body) => {
    const prefix = `${nameOf(names, outputs[0] as Value)}/${body}/`
    return bodyOf(resultsOf(bodies[body], prefix), prefix, writing, own)
  })
}

function writeChoiceNode(graph: ProtobufWriter, node: ChoiceNode, { names, inner }: Body): void {
  const outputs = node.outputs.map((value) => nameOf(names, value))
  const [met, otherwise] = inner.get(node) as [Body, Body]
  const write = (body: Body) => (branch: ProtobufWriter) => {
    writeBody(branch, body)
    branch.string(2, `a branch of ${outputs[0] ?? ''}`)
    for (const [output, value] of body.outputs) writeValueInfo(branch, 12, output, value)
  }
  writeIf(
    graph,
    { name: outputs[0] ?? '', condition: nameOf(names, node.inputs[0] as Value), outputs },
    { then_branch: write(met), else_branch: write(otherwise) },
  )
}

function writeLoopNode(graph: ProtobufWriter, node: LoopNode, { names, inner }: Body): void {
  const [turn] = inner.get(node) as [Body]
  const { reads, carried } = node.body
  const called = (value: Value) => nameOf(names, value)
  const name = called(node.outputs[0] as Value)
  const goesOn = `${name}/goes on`
  const initial = node.inputs.slice(1 + reads.length).map(called)
  const outputs = node.outputs.map(called)
  writeLoop(graph, { name, turns: called(node.inputs[0] as Value), initial, outputs }, (body) => {
    writeValueInfo(body, 11, nameOf(turn.names, node.body.turn), node.body.turn)
    writeValueInfo(body, 11, `${goesOn} now`, { dtype: 'bool', shape: [] })
    for (const value of carried) writeValueInfo(body, 11, nameOf(turn.names, value), value)
    writeBody(body, turn)
    writeIdentity(body, `${goesOn} now`, goesOn)
    body.string(2, `a turn of ${name}`)
    writeValueInfo(body, 12, goesOn, { dtype: 'bool', shape: [] })
    for (const [output, value] of turn.outputs) writeValueInfo(body, 12, output, value)
  })
}

/** Nodes and constants; an output that is an input, a constant or another output is repeated under its own name. */
export function writeBody(graph: ProtobufWriter, body: Body): void {
  const { nodes, names, outputs } = body
  for (const node of nodes) {
    if (node.kind === 'loop') writeLoopNode(graph, node, body)
    if (node.kind === 'choice') writeChoiceNode(graph, node, body)
    if (node.kind === 'op') writeNode(graph, node, names)
    if (node.kind === 'constant') {
      graph.message(5, (tensor) => {
        writeConstant(tensor, node, names)
      })
    }
  }
  for (const [name, value] of outputs) {
    const own = nameOf(names, value)
    if (own !== name) writeIdentity(graph, own, name)
  }
}

/** Builds the parts that all programs share: inputs and weights, then the model around the graph. */
export function finishModel(
  name: string,
  bodies: readonly Body[],
  write: (graph: ProtobufWriter) => void,
  { outputs, dialect: { feedsWeights } }: { readonly outputs: readonly string[]; readonly dialect: Dialect },
): OnnxModel {
  const inputs = byName(
    bodies.flatMap((body) => inputsOf(body).map((node) => [nameOf(body.names, outputOf(node)), node])),
  )
  const nodes = bodies.flatMap((body) => body.nodes)
  const weights = [
    ...byName(nodes.flatMap((node) => (node.kind === 'weight' ? [[node.name, node] as const] : []))).values(),
  ]
  const writer = new ProtobufWriter().integer(1, IR_VERSION).string(2, 'turnwise')
  writer.message(7, (graph) => {
    write(graph)
    graph.string(2, name)
    for (const node of weights) {
      if (feedsWeights) writeValueInfo(graph, 11, node.name, outputOf(node))
      else graph.message(5, (tensor) => writeWeight(tensor, node))
    }
    for (const [input, node] of inputs) writeValueInfo(graph, 11, input, outputOf(node))
  })
  for (const [domain, version] of [
    ['', OPSET],
    ['com.microsoft', 1],
  ] as const) {
    writer.message(8, (opset) => opset.string(1, domain).integer(2, version))
  }
  return {
    bytes: writer.finish(),
    inputs: Array.from(inputs, ([input, node]) => ({
      name: input,
      dtype: outputOf(node).dtype,
      shape: outputOf(node).shape,
    })),
    outputs,
    fedWeights: feedsWeights ? weights : [],
    externalFolder: feedsWeights ? null : commonFolder(weights),
  }
}

/** One node of each name; programs of one model mean the same by it. */
function byName<N extends InputNode | WeightNode>(named: readonly (readonly [string, N])[]): Map<string, N> {
  const found = new Map<string, N>()
  for (const [name, node] of named) {
    const known = found.get(name)
    if (known && !sameShape(outputOf(known).shape, outputOf(node).shape)) {
      throw new Error(
        `Two values called ${name} have shapes ${showShape(outputOf(known).shape)} and ${showShape(outputOf(node).shape)}.`,
      )
    }
    found.set(name, known ?? node)
  }
  return found
}

/** External data must lie below the folder that the session is given: the runtime refuses other paths. */
function commonFolder(weights: readonly WeightNode[]): string | null {
  const folders = new Set(weights.map(({ file }) => dirname(file)))
  if (folders.size > 1) throw new Error(`Weights lie in several folders: ${[...folders].join(', ')}.`)
  return [...folders][0] ?? null
}

type NamedOutputs = readonly (readonly [string, Value])[]

/** Inputs and weights keep their names, outputs get theirs; the rest is numbered behind the prefix. */
function nameValues(
  nodes: readonly Node[],
  outputs: NamedOutputs,
  { prefix, given }: { readonly prefix: string; readonly given: ReadonlyMap<Node, string> },
): Names {
  const names = new Map<Value, string>()
  for (const [name, value] of outputs) {
    if (value.node.kind === 'op' && !names.has(value)) names.set(value, name)
  }
  const ownName = (node: Node) =>
    given.get(node) ?? (node.kind === 'input' || node.kind === 'weight' ? node.name : undefined)
  for (const node of nodes) {
    if (node.kind === 'composite') continue
    for (const value of node.outputs) {
      if (!names.has(value)) names.set(value, ownName(node) ?? `${prefix}value_${String(names.size)}`)
    }
  }
  return names
}

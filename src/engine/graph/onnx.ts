/**
 * Writes an expression graph as an ONNX model. Field numbers are those of onnx.proto (IR version 10, opset 21).
 * Weights on disk become external data, so a written graph holds no parameters.
 */
import { dirname } from 'node:path'
import type { Names } from './onnxMessages.ts'
import {
  nameOf,
  writeConstant,
  writeEmpty,
  writeIdentity,
  writeIf,
  writeInteger,
  writeIsSelected,
  writeNode,
  writeUnshapedOutput,
  writeValueInfo,
  writeWeight,
} from './onnxMessages.ts'
import { ProtobufWriter } from './protobuf.ts'
import { sameShape, showShape } from './shape.ts'
import { lower, resolve } from './substitute.ts'
import type { InputNode, Node, TensorType, Value, WeightNode } from './value.ts'
import { outputOf, topologicalOrder } from './value.ts'

const IR_VERSION = 10
const OPSET = 21

export interface OnnxModel {
  readonly bytes: Uint8Array
  readonly inputs: readonly (TensorType & { readonly name: string })[]
  readonly outputs: readonly string[]
  /** Weights that are fed beside the inputs, where the dialect says so. */
  readonly fedWeights: readonly WeightNode[]
  /** The one folder that holds all external data; null when there is none. */
  readonly externalFolder: string | null
}

/** Named outputs. */
export type Program = Readonly<Record<string, Value>>

export interface Dialect {
  /** Whether the provider has kernels for the extensions that have a form without: `Op.lowered`. */
  readonly extended: boolean
  /**
   * Weights are inputs, fed with tensors that lie on the device: several sessions then share them. Elsewhere they are
   * mapped from their files.
   */
  readonly feedsWeights: boolean
}

/** What the CPU provider runs. */
const cpuDialect: Dialect = { extended: true, feedsWeights: false }

/** Writes what is needed to compute `outputs`; inputs that nothing reads are left out. */
export function writeOnnx(name: string, outputs: Program, dialect = cpuDialect): OnnxModel {
  const body = bodyOf(outputs, '', dialect)
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

/** The input of `writeChoice` that says which program runs: i64 [1], its place in the order of the programs. */
export const SELECTOR = 'program'

const selector = { name: SELECTOR, dtype: 'int64', shape: [1] } as const

export const choiceOutput = (program: string, output: string): string => `${program}: ${output}`

/**
 * Several programs in one model, of which each run computes one: they share the memory of the session, and nothing of it
 * is bound to one of them. Inputs and weights of the same name are the same. Outputs are called `PROGRAM: OUTPUT`; those
 * of programs that did not run are empty. All inputs must be fed, with anything of the right rank if not read.
 */
export function writeChoice(
  name: string,
  programs: Readonly<Record<string, Program>>,
  dialect = cpuDialect,
): OnnxModel {
  const branches = Object.entries(programs).map(([program, outputs]) => ({
    program,
    outputs: Object.keys(outputs),
    body: bodyOf(
      rename(outputs, (output) => computed(program, output)),
      `${program}/`,
      dialect,
    ),
  }))
  const outputs = branches.flatMap(({ program, outputs: own }) =>
    own.map((output) => choiceOutput(program, output)),
  )
  const write = (graph: ProtobufWriter) => {
    branches.forEach((branch, index) => {
      writeBranch(graph, branch, index)
    })
    writeValueInfo(graph, 11, SELECTOR, selector)
    for (const output of outputs) writeUnshapedOutput(graph, output)
  }
  const bodies = branches.map(({ body }) => body)
  const model = finishModel(name, bodies, write, { outputs, dialect })
  return { ...model, inputs: [...model.inputs, selector] }
}

const computed = (program: string, output: string): string => `${choiceOutput(program, output)}, computed`

const rename = (outputs: Program, newName: (name: string) => string): Program =>
  Object.fromEntries(Object.entries(outputs).map(([name, value]) => [newName(name), value]))

interface Branch {
  readonly program: string
  readonly outputs: readonly string[]
  readonly body: Body
}

/** An `If` that computes the program where it is selected and gives empty tensors where not. */
function writeBranch(graph: ProtobufWriter, { program, outputs, body }: Branch, index: number): void {
  const [place, condition] = [`index of ${program}`, `is ${program}`]
  const names = outputs.map((output) => choiceOutput(program, output))
  graph.message(5, (tensor) => {
    writeInteger(tensor, place, index)
  })
  writeIsSelected(graph, { selector: SELECTOR, index: place, condition })
  writeIf(
    graph,
    { name: program, condition, outputs: names },
    {
      then_branch(inner) {
        writeBody(inner, body)
        inner.string(2, `${program}, computed`)
        for (const [output, value] of body.outputs) writeValueInfo(inner, 12, output, value)
      },
      else_branch(inner) {
        for (const output of names) writeEmpty(inner, `${output}, left out`)
        inner.string(2, `${program}, left out`)
        for (const output of names) writeUnshapedOutput(inner, `${output}, left out`)
      },
    },
  )
}

/** The nodes of one program and what its values are called. */
interface Body {
  readonly nodes: readonly Node[]
  readonly names: Names
  readonly outputs: NamedOutputs
}

function bodyOf(program: Program, prefix: string, { extended }: Dialect): Body {
  const resolved = Object.values(program).map(resolve)
  const written = extended ? resolved : lower(resolved)
  const outputs = Object.keys(program).map((name, index) => [name, written[index] as Value] as const)
  const nodes = topologicalOrder(
    outputs.map(([, value]) => value),
    true,
  )
  return { nodes, names: nameValues(nodes, outputs, prefix), outputs }
}

/** Nodes and constants; an output that is an input, a constant or another output is repeated under its own name. */
function writeBody(graph: ProtobufWriter, { nodes, names, outputs }: Body): void {
  for (const node of nodes) {
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

/** What all programs share: inputs and weights, then the model around the graph. */
function finishModel(
  name: string,
  bodies: readonly Body[],
  write: (graph: ProtobufWriter) => void,
  { outputs, dialect: { feedsWeights } }: { readonly outputs: readonly string[]; readonly dialect: Dialect },
): OnnxModel {
  const nodes = bodies.flatMap((body) => body.nodes)
  const inputs = byName(nodes.filter((node): node is InputNode => node.kind === 'input'))
  const weights = byName(nodes.filter((node): node is WeightNode => node.kind === 'weight'))
  const writer = new ProtobufWriter().integer(1, IR_VERSION).string(2, 'turnwise')
  writer.message(7, (graph) => {
    write(graph)
    graph.string(2, name)
    for (const node of weights) {
      if (feedsWeights) writeValueInfo(graph, 11, node.name, outputOf(node))
      else graph.message(5, (tensor) => writeWeight(tensor, node))
    }
    for (const node of inputs) writeValueInfo(graph, 11, node.name, outputOf(node))
  })
  for (const [domain, version] of [
    ['', OPSET],
    ['com.microsoft', 1],
  ] as const) {
    writer.message(8, (opset) => opset.string(1, domain).integer(2, version))
  }
  return {
    bytes: writer.finish(),
    inputs: inputs.map((node) => ({
      name: node.name,
      dtype: outputOf(node).dtype,
      shape: outputOf(node).shape,
    })),
    outputs,
    fedWeights: feedsWeights ? weights : [],
    externalFolder: feedsWeights ? null : commonFolder(weights),
  }
}

/** One node of each name; programs of one model mean the same by it. */
function byName<N extends InputNode | WeightNode>(nodes: readonly N[]): N[] {
  const found = new Map<string, N>()
  for (const node of nodes) {
    const known = found.get(node.name)
    if (known && !sameShape(outputOf(known).shape, outputOf(node).shape)) {
      throw new Error(
        `Two values called ${node.name} have shapes ${showShape(outputOf(known).shape)} and ${showShape(outputOf(node).shape)}.`,
      )
    }
    found.set(node.name, known ?? node)
  }
  return [...found.values()]
}

/** External data must lie below the folder that the session is given: the runtime refuses other paths. */
function commonFolder(weights: readonly WeightNode[]): string | null {
  const folders = new Set(weights.map(({ file }) => dirname(file)))
  if (folders.size > 1) throw new Error(`Weights lie in several folders: ${[...folders].join(', ')}.`)
  return [...folders][0] ?? null
}

type NamedOutputs = readonly (readonly [string, Value])[]

/** Inputs and weights keep their names, outputs get theirs; the rest is numbered behind the prefix. */
function nameValues(nodes: readonly Node[], outputs: NamedOutputs, prefix: string): Names {
  const names = new Map<Value, string>()
  for (const [name, value] of outputs) {
    if (value.node.kind === 'op' && !names.has(value)) names.set(value, name)
  }
  for (const node of nodes) {
    for (const value of node.outputs) {
      if (names.has(value) || node.kind === 'composite') continue
      const isNamed = node.kind === 'input' || node.kind === 'weight'
      names.set(value, isNamed ? node.name : `${prefix}value_${String(names.size)}`)
    }
  }
  return names
}

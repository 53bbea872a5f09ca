/** Puts several programs into one ONNX model, of which each run computes one; a program may be repeated in a loop. */
import type { ProtobufWriter } from '#shared/protobuf.ts'
import {
  bodyOf,
  cpuDialect,
  finishModel,
  inputsOf,
  writeBody,
  type Body,
  type OnnxModel,
  type Program,
  type Writing,
} from '../graph/onnx.ts'
import {
  writeEmpty,
  writeIf,
  writeInteger,
  writeIsSelected,
  writeLoop,
  writeUnshapedOutput,
  writeValueInfo,
} from '../graph/onnxMessages.ts'
import { concat, reshape } from './layout.ts'
import { showShape } from '../graph/shape.ts'
import { substitute } from '../graph/substitute.ts'
import { type InputNode, type Node, type Value, outputOf, topologicalOrder } from '../graph/value.ts'

/** A value that turns hand on to each other. */
export interface Carried {
  readonly initial: Value
  /** The input by which the body reads it. */
  readonly read: Value
  readonly next: Value
}

/** A program that is repeated. Its body also reads what other programs do: weights and inputs. */
export interface LoopProgram {
  /** i64 [1], an input: the most turns. */
  readonly turns: Value
  readonly carried: Readonly<Record<string, Carried>>
  /** bool [1] of a turn: whether there is another one. */
  readonly goesOn: Value
  /** f32 outputs of every turn, stacked along a new first axis. */
  readonly stacked: Program
  /** Carried f32 values whose last state is wanted. */
  readonly last: readonly string[]
}

/** The same for a fixed number of turns, each written out: for providers that run no loop. */
export function unrolled({ carried, stacked, last }: LoopProgram, turns: number): Program {
  const values = Object.values(carried)
  let state = values.map(({ initial }) => initial)
  const made: Value[][] = []
  for (let turn = 0; turn < turns; turn++) {
    const read = new Map(values.map((value, index) => [value.read, state[index]!]))
    const outputs = substitute([...values.map(({ next }) => next), ...Object.values(stacked)], read)
    state = outputs.slice(0, values.length)
    made.push(outputs.slice(values.length))
  }
  const stack = (index: number) =>
    concat(
      made.map((outputs) => reshape(outputs[index]!, [1, ...outputs[index]!.shape])),
      0,
    )
  const ends = new Map(Object.keys(carried).map((name, index) => [name, state[index]!]))
  return {
    ...Object.fromEntries(last.map((name) => [name, ends.get(name)!])),
    ...Object.fromEntries(Object.keys(stacked).map((name, index) => [name, stack(index)])),
  }
}

export const isLoop = (program: Program | LoopProgram): program is LoopProgram =>
  'goesOn' in program && 'last' in program

/** Names of the outputs of one run. */
export const outputsOf = (program: Program | LoopProgram): string[] =>
  isLoop(program) ? [...program.last, ...Object.keys(program.stacked)] : Object.keys(program)

/** The input of `writeChoice` that says which program runs: i64 [1], its place in the order of the programs. */
export const SELECTOR = 'program'

const selector = { name: SELECTOR, dtype: 'int64', shape: [1] } as const

export const choiceOutput = (program: string, output: string): string => `${program}: ${output}`

export interface ChoiceModel extends OnnxModel {
  /** The model's inputs, by program and by the name that the program reads. */
  readonly reads: Readonly<Record<string, ReadonlyMap<string, string>>>
}

/**
 * Several programs in one model, of which each run computes one: they share the memory of the session, and nothing of it
 * is bound to one of them. Weights of the same name are the same, inputs too if they have the same shape. Outputs are
 * called `PROGRAM: OUTPUT`; those of programs that did not run are empty. All inputs must be fed, with anything of the
 * right rank if not read.
 */
export function writeChoice(
  name: string,
  programs: Readonly<Record<string, Program | LoopProgram>>,
  dialect = cpuDialect,
): ChoiceModel {
  const inputNames = distinctNames(Object.values(programs))
  const writing = { dialect, inputNames }
  const branches = Object.entries(programs).map(([name, program]) =>
    isLoop(program) ? loopBranch(name, program, writing) : plainBranch(name, program, writing),
  )
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
  const model = finishModel(
    name,
    branches.flatMap(({ bodies }) => bodies),
    write,
    { outputs, dialect },
  )
  const reads = branches.map(({ program, bodies }) => {
    return [program, readsOf(bodies.flatMap(inputsOf), inputNames)] as const
  })
  return { ...model, inputs: [...model.inputs, selector], reads: Object.fromEntries(reads) }
}

/** @throws Error where a program itself means two shapes by one name. */
function readsOf(inputs: readonly InputNode[], inputNames: ReadonlyMap<Node, string>): Map<string, string> {
  const reads = new Map<string, string>()
  for (const node of inputs) {
    const [known, input] = [reads.get(node.name), inputNames.get(node) ?? node.name]
    if (known !== undefined && known !== input) {
      throw new Error(`One program reads two values called ${node.name}: ${known} and ${input}.`)
    }
    reads.set(node.name, input)
  }
  return reads
}

/** Gives distinct names to inputs whose names mean different shapes in different programs. */
function distinctNames(programs: readonly (Program | LoopProgram)[]): Map<Node, string> {
  const values = programs.flatMap((program) => (isLoop(program) ? valuesOf(program) : Object.values(program)))
  const inputs = topologicalOrder(values, true).filter((node) => node.kind === 'input')
  const kindOf = (node: InputNode) => `${outputOf(node).dtype} ${showShape(outputOf(node).shape)}`
  const kinds = Map.groupBy(inputs, ({ name }) => name)
  const isOne = (name: string) => new Set(kinds.get(name)!.map(kindOf)).size === 1
  return new Map(inputs.map((node) => [node, isOne(node.name) ? node.name : `${node.name}, ${kindOf(node)}`]))
}

/** Lists all values that are computed in it. */
export const valuesOf = ({ turns, carried, goesOn, stacked }: LoopProgram): Value[] => [
  turns,
  goesOn,
  ...Object.values(carried).flatMap(({ initial, next }) => [initial, next]),
  ...Object.values(stacked),
]

const computed = (program: string, output: string): string => `${choiceOutput(program, output)}, computed`

const rename = (outputs: Program, newName: (name: string) => string): Program =>
  Object.fromEntries(Object.entries(outputs).map(([name, value]) => [newName(name), value]))

interface Branch {
  readonly program: string
  readonly outputs: readonly string[]
  readonly bodies: readonly Body[]
  /** Nodes and outputs of the graph that computes the program. */
  readonly write: (inner: ProtobufWriter) => void
}

function plainBranch(program: string, outputs: Program, writing: Writing): Branch {
  const body = bodyOf(
    rename(outputs, (output) => computed(program, output)),
    `${program}/`,
    writing,
  )
  return {
    program,
    outputs: Object.keys(outputs),
    bodies: [body],
    write(inner) {
      writeBody(inner, body)
      for (const [output, value] of body.outputs) writeValueInfo(inner, 12, output, value)
    },
  }
}

/** Names of the body's own inputs; the runtime tells them by their places. */
const [ITERATION, WAS_GOING_ON] = ['iteration', 'was going on']

function loopBranch(program: string, loop: LoopProgram, writing: Writing): Branch {
  const carried = Object.entries(loop.carried)
  const turns = `${program}: most turns`
  const first = carried.map(([name, { initial }]) => [`${program}: first ${name}`, initial] as const)
  const before = bodyOf({ [turns]: loop.turns, ...Object.fromEntries(first) }, `${program}/before/`, writing)
  const next = carried.map(([name, value]) => [`${program}: next ${name}`, value.next] as const)
  const turn = bodyOf(
    {
      [`${program}: goes on`]: loop.goesOn,
      ...Object.fromEntries(next),
      ...rename(loop.stacked, (output) => `${program}: ${output} of a turn`),
    },
    `${program}/`,
    writing,
    new Map(carried.map(([name, { read }]) => [read.node, `${program}: ${name}`])),
  )
  const results = [
    ...carried.map(([name]) =>
      loop.last.includes(name) ? computed(program, name) : `${program}: last ${name}`,
    ),
    ...Object.keys(loop.stacked).map((output) => computed(program, output)),
  ]
  const outputs = outputsOf(loop)
  return {
    program,
    outputs,
    bodies: [before, turn],
    write(inner) {
      writeBody(inner, before)
      const initial = first.map(([name]) => name)
      writeLoop(inner, { name: program, turns, initial, outputs: results }, (body) => {
        writeValueInfo(body, 11, `${program}: ${ITERATION}`, { dtype: 'int64', shape: [] })
        writeValueInfo(body, 11, `${program}: ${WAS_GOING_ON}`, { dtype: 'bool', shape: [] })
        for (const [name, { read }] of carried) writeValueInfo(body, 11, `${program}: ${name}`, read)
        writeBody(body, turn)
        body.string(2, `a turn of ${program}`)
        for (const [output, value] of turn.outputs) writeValueInfo(body, 12, output, value)
      })
      for (const output of outputs) writeUnshapedOutput(inner, computed(program, output))
    },
  }
}

/** An `If` that computes the program where it is selected and gives empty tensors where not. */
function writeBranch(graph: ProtobufWriter, { program, outputs, write }: Branch, index: number): void {
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
        write(inner)
        inner.string(2, `${program}, computed`)
      },
      else_branch(inner) {
        for (const output of names) writeEmpty(inner, `${output}, left out`)
        inner.string(2, `${program}, left out`)
        for (const output of names) writeUnshapedOutput(inner, `${output}, left out`)
      },
    },
  )
}

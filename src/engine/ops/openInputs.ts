import { isLoop, valuesOf, type LoopProgram } from './branches.ts'
import type { Program } from '../graph/onnx.ts'
import { reshapeTo } from './layout.ts'
import { substitute } from '../graph/substitute.ts'
import { input, integers, outputOf, topologicalOrder, type InputNode, type Value } from '../graph/value.ts'

type Programs = Readonly<Record<string, Program | LoopProgram>>

/**
 * The same programs of one model, where each input that some of them do not read may be fed empty to those: a device is handed all
 * inputs in every run, whatever runs. The lengths of their axes are open in the model and fixed where a program reads them.
 */
export function withOpenInputs(programs: Programs): Programs {
  const read = Object.entries(programs).map(([name, program]) => ({
    name,
    program,
    inputs: inputsOf(program),
  }))
  const readers = Map.groupBy(
    read.flatMap(({ inputs }) => [...new Set(inputs.map((node) => node.name))]),
    (name) => name,
  )
  const isOpened = (node: InputNode) =>
    isLarge(outputOf(node)) && readers.get(node.name)!.length < read.length
  return Object.fromEntries(
    read.map(({ name, program, inputs }) => {
      const opened = inputs.filter(isOpened).map((node) => [outputOf(node), open(node)] as const)
      return [name, replaced(program, new Map(opened))]
    }),
  )
}

/** Fed at a run, not handed on by turns. */
function inputsOf(program: Program | LoopProgram): InputNode[] {
  const values = isLoop(program) ? valuesOf(program) : Object.values(program)
  const own = new Set(isLoop(program) ? Object.values(program.carried).map(({ read }) => read.node) : [])
  return topologicalOrder(values, true).filter(
    (node): node is InputNode => node.kind === 'input' && !own.has(node),
  )
}

/** Returns true for an input with more than one element whose shape is the same in every run. */
const isLarge = ({ shape }: Value): boolean =>
  shape.every((dim) => typeof dim === 'number') && shape.some((dim) => dim !== 1)

/** Axes that are as long have one name, so that the runtime knows which results are alike. */
function open(node: InputNode): Value {
  const { dtype, shape } = outputOf(node)
  const opened = input(
    node.name,
    dtype,
    shape.map((dim) => `size ${String(dim)}`),
  )
  return reshapeTo(opened, shape, integers(shape as readonly number[]))
}

function replaced(
  program: Program | LoopProgram,
  replacements: ReadonlyMap<Value, Value>,
): Program | LoopProgram {
  if (!isLoop(program)) {
    const values = substitute(Object.values(program), replacements)
    return Object.fromEntries(Object.keys(program).map((name, index) => [name, values[index]!]))
  }
  const values = substitute(valuesOf(program), replacements).values()
  const next = () => values.next().value!
  const [turns, goesOn] = [next(), next()]
  const carried = Object.entries(program.carried).map(
    ([name, { read }]) => [name, { read, initial: next(), next: next() }] as const,
  )
  const stacked = Object.keys(program.stacked).map((name) => [name, next()] as const)
  return {
    turns,
    goesOn,
    last: program.last,
    carried: Object.fromEntries(carried),
    stacked: Object.fromEntries(stacked),
  }
}

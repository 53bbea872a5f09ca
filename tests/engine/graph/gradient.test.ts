import { describe, expect, test } from 'vitest'
import { gradients } from '#engine/ops/gradient.ts'
import { writeOnnx } from '#engine/graph/onnx.ts'
import type { Value } from '#engine/graph/value.ts'
import { apply, input, weight } from '#engine/graph/value.ts'
import { silu } from '#engine/ops/activation.ts'
import { add, exp, mul } from '#engine/ops/arithmetic.ts'
import { defineOp } from '#engine/ops/define.ts'
import { gather } from '#engine/ops/gather.ts'
import { matmul } from '#engine/ops/matmul.ts'
import { ops } from '../ops/everyOp.ts'
import { countTypes, readOnnx } from './onnxReader.ts'
import { evaluate } from './evaluate.ts'

const frozen = (name: string, shape: readonly number[]): Value =>
  weight(name, {
    file: '/nowhere/model.safetensors',
    offset: 0,
    byteLength: 4 * shape[0]! * (shape[1] ?? 1),
    shape,
  })

const written = (values: readonly (Value | null)[]) =>
  readOnnx(
    writeOnnx(
      'test',
      Object.fromEntries(values.flatMap((value, index) => (value ? [[`g${String(index)}`, value]] : []))),
    ).bytes,
  )

describe('the walk', () => {
  test('nothing is computed for frozen weights', () => {
    const x = input('x', 'float32', ['N', 6])
    const table = frozen('W', [4, 6])
    const [a, b] = [input('A', 'float32', [2, 6]), input('B', 'float32', [4, 2])]
    const y = add(
      matmul(x, table, { transB: true }),
      matmul(matmul(x, a, { transB: true }), b, { transB: true }),
    )
    const seeds = [{ value: y, cotangent: input('dy', 'float32', ['N', 4]) }]
    // dB = dyᵀ(xAᵀ), d(xAᵀ) = dy·B, dA = d(xAᵀ)ᵀx: four products, none with W.
    const adapterOnly = written(gradients(seeds, [a, b]))
    expect(countTypes(adapterOnly)).toEqual({ FusedMatMul: 4 })
    expect(adapterOnly.initializers).toEqual([])
    // dx = dy·W + d(xAᵀ)·A
    const withInput = written(gradients(seeds, [x, a, b]))
    expect(countTypes(withInput)).toEqual({ FusedMatMul: 6, Add: 1 })
    const readers = withInput.nodes.filter(({ inputs }) => inputs.includes('W'))
    expect(readers.map(({ inputs }) => inputs)).toEqual([['dy', 'W']])
  })

  test('no part of the graph beside the path to a target is visited', () => {
    const x = input('x', 'float32', ['N', 4])
    const other = input('other', 'float32', ['N', 4])
    // Silu has a rule and Gather has none; neither is on the way from the seed to x.
    const aside = silu(gather(frozen('E', [9, 4]), input('ids', 'int64', ['N'])))
    const y = add(mul(x, aside), exp(other))
    const [dx] = gradients([{ value: y, cotangent: input('dy', 'float32', ['N', 4]) }], [x])
    expect(countTypes(written([dx!]))).toEqual({ Gather: 1, QuickGelu: 1, Mul: 1 })
  })

  test('a target that no seed reaches gets null', () => {
    const [x, z] = [input('x', 'float32', [2]), input('z', 'float32', [2])]
    const [dx, dz] = gradients([{ value: exp(x), cotangent: input('dy', 'float32', [2]) }], [x, z])
    expect(dx).not.toBeNull()
    expect(dz).toBeNull()
  })

  test('a seed that leads to no target asks no rule', () => {
    const x = input('x', 'float32', ['N', 4])
    const elsewhere = gather(frozen('E', [9, 4]), input('ids', 'int64', ['N']))
    const cotangent = input('dy', 'float32', ['N', 4])
    expect(gradients([{ value: elsewhere, cotangent }], [x])).toEqual([null])
  })

  test('a seed that is itself a target passes its cotangent on', () => {
    const x = input('x', 'float32', [2])
    const dy = input('dy', 'float32', [2])
    expect(gradients([{ value: x, cotangent: dy }], [x])).toEqual([dy])
  })

  test('contributions of shared subexpressions and of several seeds add up', async () => {
    const x = input('x', 'float32', [2])
    const shared = exp(x)
    const y = add(mul(shared, shared), shared) // e²ˣ + eˣ
    const dy = input('dy', 'float32', [2])
    const [dx] = gradients(
      [
        { value: y, cotangent: dy },
        { value: shared, cotangent: dy },
      ],
      [x],
    )
    const [first, second] = [0.5, -1]
    const { dx: found } = await evaluate({ dx: dx! }, { x: [first, second], dy: [1, 10] })
    const slope = (at: number) => 2 * Math.exp(2 * at) + 2 * Math.exp(at)
    expect(found![0]).toBeCloseTo(slope(first), 5)
    expect(found![1]).toBeCloseTo(10 * slope(second), 5)
    // The exponential itself is computed once.
    expect(countTypes(written([dx!]))['Exp']).toBe(1)
  })

  test('broadcasting is undone: a row gets the sum over the rows it was added to', async () => {
    const [x, row] = [input('x', 'float32', ['N', 2]), input('row', 'float32', [2])]
    const [dx, drow] = gradients(
      [{ value: add(x, row), cotangent: input('dy', 'float32', ['N', 2]) }],
      [x, row],
    )
    expect(drow!.shape).toEqual([2])
    const dy = { data: [1, 2, 3, 4, 5, 6], dims: [3, 2] }
    const found = await evaluate({ dx: dx!, drow: drow! }, { dy })
    expect([...found['drow']!]).toEqual([9, 12])
    expect([...found['dx']!]).toEqual(dy.data)
  })

  test('a cotangent that cannot have come from its value is an error with both shapes', () => {
    const x = input('x', 'float32', ['N', 4])
    const wrong = input('dy', 'float32', ['N', 3])
    expect(() => gradients([{ value: exp(x), cotangent: wrong }], [x])).toThrow('[N, 3] does not fit [N, 4]')
  })
})

describe('ops without a gradient', () => {
  const refusing = ops.flatMap(({ name, vjp }) => (typeof vjp === 'string' ? [[name, vjp] as const] : []))

  test('are a decision: exactly these', () => {
    expect(refusing.map(([name]) => name).toSorted()).toEqual([
      'Abs',
      'ArgMax',
      'Cast',
      'Clip',
      'CumSum',
      'DequantizeLinear',
      'Dimension',
      'Gather',
      'GatherBlockQuantized',
      'GatherND',
      'IntegerAdd',
      'IntegerConcat',
      'IntegerDiv',
      'IntegerEqual',
      'IntegerSub',
      'LessOrEqual',
      'MatMul',
      'MatMulIntegerToFloat',
      'MatMulNBits',
      'OneHot',
      'QuantizeLinear',
      'QuickGelu',
      'ReduceMax',
      'Relu',
      'ScatterAdd',
      'ScatterElements',
      'Shape',
      'Slice',
      'TopK',
      'Where',
    ])
  })

  test.each(refusing)('%s: an error names the op, its inputs and the reason', (name, reason) => {
    const op = ops.find((candidate) => candidate.name === name)!
    const x = input('x', 'float32', ['N', 4])
    const y = apply(op, [x, null], {}, [x])[0]!
    const walk = () => gradients([{ value: y, cotangent: input('dy', 'float32', ['N', 4]) }], [x])
    expect(walk).toThrow(`No VJP for ${name} (needed with inputs [N, 4], none): ${reason}`)
  })

  test('are no obstacle where nothing is learned through them', () => {
    const table = input('table', 'float32', [9, 4])
    const x = input('x', 'float32', ['N', 4])
    const y = mul(gather(table, input('ids', 'int64', ['N'])), x)
    const seeds = [{ value: y, cotangent: input('dy', 'float32', ['N', 4]) }]
    expect(gradients(seeds, [x])[0]).not.toBeNull()
    expect(() => gradients(seeds, [x, table])).toThrow('No VJP for Gather')
  })
})

test('a rule is not asked twice for one node', () => {
  let asked = 0
  const op = defineOp('Counted', ({ cotangents }) => {
    asked++
    return [cotangents[0] ?? null]
  })
  const x = input('x', 'float32', [2])
  const y = apply(op, [x], {}, [x])[0]!
  gradients([{ value: add(mul(y, y), y), cotangent: input('dy', 'float32', [2]) }], [x])
  expect(asked).toBe(1)
})

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { writeOnnx } from '#engine/graph/onnx.ts'
import { constant, input, integers, weight } from '#engine/graph/value.ts'
import { add, exp, mul, neg } from '#engine/ops/arithmetic.ts'
import { concat, reshape } from '#engine/ops/layout.ts'
import { matmul } from '#engine/ops/matmul.ts'
import { layerNorm } from '#engine/ops/normalization.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { evaluate } from './evaluate.ts'
import { countTypes, readOnnx } from './onnxReader.ts'

const read = (program: Parameters<typeof writeOnnx>[1]) => readOnnx(writeOnnx('test', program).bytes)

describe('the written model', () => {
  test('states versions, element types and dimensions, symbols by name', () => {
    const x = input('x', 'float32', ['N', 4])
    const joined = concat([x, input('more', 'float32', ['P', 4])], 0)
    const { irVersion, opsets, inputs, outputs } = read({ y: joined })
    expect([irVersion, opsets]).toEqual([10, { '': 21, 'com.microsoft': 1 }])
    expect(inputs).toEqual([
      { name: 'x', elementType: 1, dims: ['N', 4] },
      { name: 'more', elementType: 1, dims: ['P', 4] },
    ])
    expect(outputs).toEqual([{ name: 'y', elementType: 1, dims: ['N+P', 4] }])
  })

  test('writes nodes after what they read, with domain and attributes', () => {
    const x = input('x', 'float32', ['N', 4])
    const { nodes } = read({ y: exp(matmul(x, x, { transB: true, alpha: -0.5 })) })
    expect(nodes.map(({ type, domain }) => [type, domain])).toEqual([
      ['FusedMatMul', 'com.microsoft'],
      ['Exp', ''],
    ])
    expect(nodes[0]?.attributes).toEqual({ transA: 0, transB: 1, alpha: -0.5 })
    expect(nodes[1]?.inputs).toEqual(nodes[0]?.outputs)
  })

  test('inputs and outputs of a node that nobody wants do no harm', () => {
    const x = input('x', 'float32', ['N', 4])
    const unread = input('unread', 'float32', ['N', 4])
    mul(x, unread)
    const ones = constant([1, 1, 1, 1], [4])
    const model = writeOnnx('test', { y: layerNorm(x, { weight: ones, bias: ones, epsilon: 1e-6 }) })
    expect(model.inputs.map(({ name }) => name)).toEqual(['x'])
    expect(readOnnx(model.bytes).inputs.map(({ name }) => name)).toEqual(['x'])
    expect(readOnnx(model.bytes).nodes[0]?.outputs).toHaveLength(3)
  })

  test('constants keep type and bits', () => {
    const values = read({
      a: neg(constant([1.5, -0], [2], 'float64')),
      b: reshape(constant([1, 2], [2]), [2, 1]),
    }).initializers
    expect(values.map(({ dataType, dims }) => [dataType, dims])).toEqual([
      [11, [2]],
      [1, [2]],
      [7, [2]],
    ])
    expect(values[0]?.raw).toEqual(new Uint8Array(Float64Array.of(1.5, -0).buffer))
    expect(values[2]?.raw).toEqual(new Uint8Array(BigInt64Array.of(2n, 1n).buffer))
  })

  test('an expression read twice is written once', () => {
    const shared = exp(input('x', 'float32', [3]))
    expect(countTypes(read({ y: add(shared, mul(shared, shared)) }))).toEqual({ Exp: 1, Add: 1, Mul: 1 })
  })
})

describe('outputs', () => {
  test('may be an input, a constant, or one value under several names', async () => {
    const x = input('x', 'float32', [2])
    const y = exp(x)
    const program = { first: y, second: y, input: x, constant: constant([7], [1]) }
    expect(countTypes(read(program))).toEqual({ Exp: 1, Identity: 3 })
    const found = await evaluate(program, { x: [0, 1] })
    expect(found['second']).toEqual(found['first'])
    expect([...found['input']!]).toEqual([0, 1])
    expect([...found['constant']!]).toEqual([7])
  })

  test('may be read by other nodes of the graph', async () => {
    const y = exp(input('x', 'float32', [1]))
    const { y: inner, z } = await evaluate({ z: neg(y), y }, { x: [0] })
    expect([inner![0], z![0]]).toEqual([1, -1])
  })
})

describe('weights', () => {
  const folder = temporaryFolder()
  const stored = Float32Array.from({ length: 6 }, (_, index) => index + 0.25)

  /** A file whose numbers start at a byte that is no multiple of four, as a safetensors header may leave them. */
  const file = join(folder, 'odd.safetensors')
  const offset = 8 + 13
  writeFileSync(
    file,
    Buffer.concat([Buffer.alloc(offset, 0xff), Buffer.from(stored.buffer), Buffer.alloc(5, 0xff)]),
  )
  const table = (from = file) => weight('table', { file: from, offset, byteLength: 24, shape: [2, 3] })

  test('are named by file, offset and length; the model holds none of their bytes', () => {
    const model = writeOnnx('test', { y: matmul(input('x', 'float32', ['N', 3]), table(), { transB: true }) })
    const [initializer] = readOnnx(model.bytes).initializers
    expect(initializer).toEqual({
      name: 'table',
      dims: [2, 3],
      dataType: 1,
      raw: null,
      external: { location: 'odd.safetensors', offset: String(offset), length: '24' },
    })
    expect(model.externalFolder).toBe(folder)
    expect(model.bytes.length).toBeLessThan(600)
  })

  test('are read in place at any offset', async () => {
    const { y } = await evaluate(
      { y: matmul(input('x', 'float32', ['N', 3]), table(), { transB: true }) },
      { x: { data: [1, 0, 0, 0, 10, 100], dims: [2, 3] } },
    )
    expect([...y!]).toEqual([0.25, 3.25, 10 * 1.25 + 100 * 2.25, 10 * 4.25 + 100 * 5.25])
  })

  test('in several files of one folder are fine, in several folders an error that names them', () => {
    const sub = join(folder, 'sub')
    mkdirSync(sub)
    const beside = weight('beside', {
      file: join(folder, 'b.safetensors'),
      offset: 0,
      byteLength: 24,
      shape: [2, 3],
    })
    expect(writeOnnx('test', { y: add(table(), beside) }).externalFolder).toBe(folder)
    const elsewhere = weight('elsewhere', {
      file: join(sub, 'c.safetensors'),
      offset: 0,
      byteLength: 24,
      shape: [2, 3],
    })
    const write = () => writeOnnx('test', { y: add(table(), elsewhere) })
    expect(write).toThrow(`Weights lie in several folders: ${folder}, ${sub}.`)
  })

  test('that the program does not use are left out', () => {
    const x = input('x', 'float32', ['N', 3])
    matmul(x, table(), { transB: true })
    const model = writeOnnx('test', { y: exp(x) })
    expect(readOnnx(model.bytes).initializers).toEqual([])
    expect(model.externalFolder).toBeNull()
  })
})

test('integer constants are 64-bit', () => {
  const [initializer] = read({ axes: integers([-1, 2 ** 40]) }).initializers
  expect([initializer?.dataType, initializer?.raw]).toEqual([
    7,
    new Uint8Array(BigInt64Array.of(-1n, 2n ** 40n).buffer),
  ])
})

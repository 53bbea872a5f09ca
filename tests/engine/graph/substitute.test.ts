import { describe, expect, test } from 'vitest'
import { writeOnnx } from '#engine/graph/onnx.ts'
import { resolve, substitute } from '#engine/graph/substitute.ts'
import { input } from '#engine/graph/value.ts'
import { silu, softmax } from '#engine/ops/activation.ts'
import { add, exp, mul } from '#engine/ops/arithmetic.ts'
import { packRows, unpackRows } from '#engine/ops/gather.ts'
import { countTypes, readOnnx } from './onnxReader.ts'
import { evaluate } from './evaluate.ts'

const written = (program: Parameters<typeof writeOnnx>[1]) => readOnnx(writeOnnx('test', program).bytes)

describe('substitute', () => {
  test('what was needed only to compute a replaced value is gone', () => {
    const x = input('x', 'float32', ['N', 4])
    const saved = softmax(exp(x))
    const y = mul(saved, add(saved, x))
    const stored = input('saved', 'float32', ['N', 4])
    const [cut] = substitute([y], new Map([[saved, stored]]))
    expect(countTypes(written({ y }))).toEqual({ Exp: 1, Softmax: 1, Add: 1, Mul: 1 })
    const model = written({ y: cut! })
    expect(countTypes(model)).toEqual({ Add: 1, Mul: 1 })
    expect(model.inputs.map(({ name }) => name).toSorted()).toEqual(['saved', 'x'])
  })

  test('gives the same numbers when fed what was replaced', async () => {
    const x = input('x', 'float32', [3])
    const saved = exp(x)
    const y = mul(silu(saved), x)
    const [cut] = substitute([y], new Map([[saved, input('saved', 'float32', [3])]]))
    const whole = await evaluate({ y, saved }, { x: [0.1, -2, 1.5] })
    const short = await evaluate({ y: cut! }, { x: [0.1, -2, 1.5], saved: [...whole['saved']!] })
    expect(short['y']).toEqual(whole['y'])
  })

  test('expressions that read nothing replaced stay the same values', () => {
    const [x, z] = [input('x', 'float32', [3]), input('z', 'float32', [3])]
    const [kept, replaced] = [exp(x), exp(z)]
    const values = substitute([kept, replaced], new Map([[z, x]]))
    expect(values[0]).toBe(kept)
    expect(values[1]).not.toBe(replaced)
  })

  test('reaches the inside of composites', () => {
    const map = { slots: [input('slots', 'int64', ['B', 'T'])], rows: input('rows', 'int64', ['N']) }
    const x = input('x', 'float32', ['N', 4])
    const inner = exp(x)
    const y = packRows(unpackRows(inner, map), map)
    const [cut] = substitute([y], new Map([[inner, input('inner', 'float32', ['N', 4])]]))
    expect(cut!.node.kind).toBe('composite')
    expect(written({ y: cut! }).inputs.map(({ name }) => name)).not.toContain('x')
    expect(countTypes(written({ y: cut! }))['Exp']).toBeUndefined()
  })

  test('a replaced output is answered with its replacement', () => {
    const x = input('x', 'float32', [3])
    const other = input('other', 'float32', [3])
    expect(substitute([x], new Map([[x, other]]))).toEqual([other])
  })
})

test('resolve goes through composites within composites to what is written', () => {
  const map = { slots: [input('slots', 'int64', ['B', 'T'])], rows: input('rows', 'int64', ['N']) }
  const packed = packRows(unpackRows(input('x', 'float32', ['N', 4]), map), map)
  expect(packed.node.kind).toBe('composite')
  expect(resolve(packed).node).toMatchObject({ kind: 'op', op: { name: 'Gather' } })
  const plain = exp(packed)
  expect(resolve(plain)).toBe(plain)
})

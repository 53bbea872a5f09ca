import { expect, test } from 'vitest'
import { bf16ToF32, f16ToF32, f32ToBf16, f32ToF16 } from '#host/files/halfPrecision.ts'

const bits = Uint16Array.from({ length: 0x10000 }, (_, index) => index)

test('bf16: every value survives the way to f32 and back', () => {
  const wide = new Float32Array(bits.length)
  bf16ToF32(bits, wide)
  const back = new Uint16Array(bits.length)
  f32ToBf16(wide, back)
  const changed = bits.filter((value, index) => back[index] !== value && !Number.isNaN(wide[index]))
  expect([...changed]).toEqual([])
  expect(wide.filter((value) => Number.isNaN(value))).toHaveLength(2 * 127)
})

test('bf16: rounds to nearest, ties to even, over the edge to infinity', () => {
  const values = Float32Array.of(
    1 + 2 ** -8,
    1 + 3 * 2 ** -8,
    1 + 2 ** -8 + 2 ** -20,
    -(1 + 2 ** -8),
    3.4e38,
    NaN,
  )
  const rounded = new Uint16Array(values.length)
  f32ToBf16(values, rounded)
  const wide = new Float32Array(values.length)
  bf16ToF32(rounded, wide)
  expect([...wide]).toEqual([1, 1 + 2 ** -6, 1 + 2 ** -7, -1, Infinity, NaN])
})

test('f16: against the formula of IEEE 754, every finite value', () => {
  const wide = new Float32Array(bits.length)
  f16ToF32(bits, wide)
  const view = new DataView(new ArrayBuffer(4))
  const wrong = bits.filter((half, index) => {
    const exponent = (half >> 10) & 31
    if (exponent === 31 || exponent === 0) return false
    // A normal half has its fraction at the top of the f32 fraction, and its exponent's bias raised from 15 to 127.
    view.setUint32(0, (((half >> 15) << 31) | ((exponent + 112) << 23) | ((half & 1023) << 13)) >>> 0)
    return view.getFloat32(0) !== wide[index]
  })
  expect([...wrong]).toEqual([])
  expect([wide[0x0001], wide[0x83ff], wide[0x7c00], wide[0xfc00], wide[0x7e00]]).toEqual([
    2 ** -24,
    -1023 * 2 ** -24,
    Infinity,
    -Infinity,
    NaN,
  ])
})

test('f32 → f16: every half comes back, ties go to even, too large becomes infinity', () => {
  const halves = Uint16Array.from({ length: 0x10000 }, (_, bits) => bits)
  const [floats, back] = [new Float32Array(0x10000), new Uint16Array(0x10000)]
  f16ToF32(halves, floats)
  f32ToF16(floats, back)
  back.forEach((bits, index) => {
    if (Number.isNaN(floats[index])) expect(bits & 0x7fff).toBeGreaterThan(0x7c00)
    else expect(bits).toBe(index)
  })
  // 2049 and 2051 lie between two halves; 2⁻²⁵ between zero and the smallest, with a little more above.
  const between = Float32Array.of(
    2049,
    2051,
    65_519,
    65_520,
    2 ** -25,
    2 ** -25 * (1 + 2 ** -23),
    -(2 ** -25),
  )
  const rounded = new Uint16Array(between.length)
  f32ToF16(between, rounded)
  expect([...rounded]).toEqual([0x6800, 0x6802, 0x7bff, 0x7c00, 0, 1, 0x8000])
})

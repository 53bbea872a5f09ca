import { expect, test } from 'vitest'
import { ProtobufWriter } from '#shared/protobuf.ts'
import { readFields } from '../engine/graph/onnxReader.ts'

test.each([0n, 1n, 127n, 128n, 300n, 2n ** 31n, 2n ** 53n, 2n ** 63n - 1n])(
  'the number %s is read back',
  (value) => {
    expect(readFields(new ProtobufWriter().integer(7, value).finish())).toEqual([{ number: 7, value }])
  },
)

test('negative numbers take ten bytes, as in the format', () => {
  const bytes = new ProtobufWriter().integer(1, -1).finish()
  expect([...bytes]).toEqual([8, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1])
})

test('the example of the format description: field 2 holding "testing"', () => {
  const bytes = new ProtobufWriter().string(2, 'testing').finish()
  expect(Buffer.from(bytes).toString('hex')).toBe('120774657374696e67')
})

test('a float is four little-endian bytes', () => {
  const [field] = readFields(new ProtobufWriter().float(2, -0.75).finish())
  expect(field?.value).toEqual(new Uint8Array(Float32Array.of(-0.75).buffer))
})

test('a double is eight little-endian bytes', () => {
  const bytes = new ProtobufWriter().double(1, 0.1).finish()
  expect(Buffer.from(bytes).toString('hex')).toBe('099a9999999999b93f')
})

test('messages nest and text is UTF-8', () => {
  const bytes = new ProtobufWriter()
    .message(3, (inner) => inner.string(1, 'Σ x').message(2, (deeper) => deeper.integer(1, 5)))
    .finish()
  const [outer] = readFields(bytes)
  const [text, deeper] = readFields(outer?.value as Uint8Array)
  expect(new TextDecoder().decode(text?.value as Uint8Array)).toBe('Σ x')
  expect(readFields(deeper?.value as Uint8Array)).toEqual([{ number: 1, value: 5n }])
})

test('content larger than the first buffer arrives whole and the writer goes on after it', () => {
  const large = Uint8Array.from({ length: 100_000 }, (_, index) => index % 251)
  const fields = readFields(new ProtobufWriter().integer(1, 9).bytes(9, large).integer(2, 1).finish())
  expect(fields.map(({ number }) => number)).toEqual([1, 9, 2])
  expect(Buffer.from(fields[1]?.value as Uint8Array).equals(large)).toBe(true)
})

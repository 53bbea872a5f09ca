import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { AppError } from '#shared/errors.ts'
import {
  bytesOf,
  f32ToWrite,
  openSafetensors,
  readTensor,
  type TensorToWrite,
  writeSafetensors,
} from '#host/files/safetensors.ts'
import { temporaryFolder } from './temporaryFolder.ts'

const folder = temporaryFolder()
let fileCount = 0
const newPath = (): string => join(folder, `${++fileCount}.safetensors`)

const tensor = (name: string, shape: readonly number[], data: readonly number[]): TensorToWrite =>
  f32ToWrite({ name, shape, data: Float32Array.from(data) })

/** A file with this header text and so many bytes of data. */
function fileWith(header: string | Uint8Array, dataLength: number, claimedLength?: bigint): string {
  const json = typeof header === 'string' ? Buffer.from(header) : Buffer.from(header)
  const prefix = Buffer.alloc(8)
  prefix.writeBigUInt64LE(claimedLength ?? BigInt(json.length))
  const path = newPath()
  writeFileSync(path, Buffer.concat([prefix, json, Buffer.alloc(dataLength)]))
  return path
}

const entry = (dtype: string, shape: unknown, offsets: unknown): string =>
  JSON.stringify({ dtype, shape, data_offsets: offsets })

function problemOf(path: string): string {
  try {
    openSafetensors(path)
  } catch (error) {
    if (error instanceof AppError) return error.message
    throw error
  }
  throw new Error('Expected an error, got a file.')
}

describe('the reference writer’s files', () => {
  test.each([
    { tensors: [], length: 8, header: '{}      ' },
    {
      tensors: [tensor('attn.0', [1, 2, 3], [0, 1, 2, 3, 4, 5])],
      length: 64,
      header: '{"attn.0":{"dtype":"F32","shape":[1,2,3],"data_offsets":[0,24]}}',
    },
    {
      tensors: [tensor('attn0', [1, 2, 3], [0, 1, 2, 3, 4, 5])],
      length: 64,
      header: '{"attn0":{"dtype":"F32","shape":[1,2,3],"data_offsets":[0,24]}} ',
    },
    {
      tensors: [tensor('attn0', [1, 1, 2, 3], [0, 1, 2, 3, 4, 5])],
      length: 72,
      header: '{"attn0":{"dtype":"F32","shape":[1,1,2,3],"data_offsets":[0,24]}}       ',
    },
  ])('header "$header"', async ({ tensors, length, header }) => {
    const path = newPath()
    await writeSafetensors(path, tensors)
    const bytes = readFileSync(path)
    expect(bytes.readBigUInt64LE(0)).toBe(BigInt(length))
    expect(bytes.subarray(8, 8 + length).toString()).toBe(header)
    expect(bytes.subarray(8 + length)).toEqual(
      Buffer.from(bytesOf(Float32Array.from(tensors.length > 0 ? [0, 1, 2, 3, 4, 5] : []))),
    )
  })

  test('wider types first, then names by bytes, metadata at the head', async () => {
    const path = newPath()
    const u8: TensorToWrite = { name: 'a', dtype: 'U8', shape: [3], pieces: () => [Uint8Array.of(1, 2, 3)] }
    const half: TensorToWrite = {
      name: 'b',
      dtype: 'BF16',
      shape: [1],
      pieces: () => [Uint8Array.of(0x80, 0x3f)],
    }
    await writeSafetensors(path, [u8, half, tensor('z', [], [1]), tensor('Z', [0, 4], [])], {
      metadata: { format: 'pt' },
    })
    const bytes = readFileSync(path)
    const length = Number(bytes.readBigUInt64LE(0))
    expect(length % 8).toBe(0)
    expect(Object.keys(JSON.parse(bytes.subarray(8, 8 + length).toString()) as object)).toEqual([
      '__metadata__',
      'Z',
      'z',
      'b',
      'a',
    ])
    const file = openSafetensors(path)
    expect(file.metadata).toEqual(new Map([['format', 'pt']]))
    expect(file.tensors.get('a')).toMatchObject({
      dtype: 'U8',
      shape: [3],
      byteLength: 3,
      offset: 8 + length + 6,
    })
    expect(file.tensors.get('Z')).toMatchObject({ shape: [0, 4], byteLength: 0 })
  })
})

describe('reading', () => {
  test('what was written comes back, half types widened exactly', async () => {
    const path = newPath()
    const halves = Uint16Array.of(0x3c00, 0xc000, 0x0001, 0x7bff, 0x8000, 0x7c00)
    const brains = Uint16Array.of(0x3f80, 0xc000, 0x0001, 0x7f7f, 0x8000, 0x3eab)
    await writeSafetensors(path, [
      { name: 'f16', dtype: 'F16', shape: [6], pieces: () => [bytesOf(halves)] },
      { name: 'bf16', dtype: 'BF16', shape: [2, 3], pieces: () => [bytesOf(brains)] },
      tensor('f32', [2], [0.1, -3]),
    ])
    const { tensors } = openSafetensors(path)
    const read = (name: string): number[] => {
      const location = tensors.get(name)
      if (!location) throw new Error(`Expected ${name}.`)
      return [...readTensor(location)]
    }
    expect(read('f32')).toEqual([Math.fround(0.1), -3])
    expect(read('f16')).toEqual([1, -2, 2 ** -24, 65504, -0, Infinity])
    expect(read('bf16')).toEqual([1, -2, 2 ** -133, 3.3895313892515355e38, -0, 0.333984375])
  })

  test('links are resolved', async () => {
    const path = newPath()
    await writeSafetensors(path, [tensor('a', [1], [5])])
    const link = join(folder, 'link')
    symlinkSync(path, link)
    expect(openSafetensors(link).file).toBe(path)
    expect(openSafetensors(link).tensors.get('a')?.file).toBe(path)
  })

  test('a header that is not aligned and starts with spaces is read', () => {
    const { tensors } = openSafetensors(fileWith(`  {"a":${entry('F32', [1], [0, 4])}}`, 4))
    expect([...readTensor(tensors.get('a') ?? expect.fail())]).toEqual([0])
  })

  test('types that are not read are listed, not lost', () => {
    const file = openSafetensors(
      fileWith(`{"a":${entry('I64', [2], [0, 16])},"b":${entry('F4', [4], [16, 18])}}`, 18),
    )
    expect([...file.unreadable]).toEqual([
      ['a', 'I64'],
      ['b', 'F4'],
    ])
  })

  test('names of objects’ own machinery are names', () => {
    const header = `{"__proto__":${entry('F32', [1], [0, 4])},"constructor":${entry('F32', [1], [4, 8])}}`
    expect([...openSafetensors(fileWith(header, 8)).tensors.keys()]).toEqual(['__proto__', 'constructor'])
  })
})

describe('refused headers', () => {
  const a = entry('F32', [1], [0, 4])
  test.each([
    ['a key that appears twice', `{"a":${a},"a":${a}}`, 4, 'the key “a” appears twice'],
    ['an escaped duplicate', `{"a":${a},"\\u0061":${a}}`, 4, 'appears twice'],
    ['a list', '[]', 0, 'not a JSON object'],
    ['bad JSON', '{"a":}', 0, 'not valid JSON'],
    ['deep nesting', `{"a":${'['.repeat(5_000)}`, 0, 'nested deeper'],
    ['a type of another name', `{"a":${entry('F33', [1], [0, 4])}}`, 4, 'unknown type “F33”'],
    ['a type from the prototype', `{"a":${entry('toString', [1], [0, 4])}}`, 4, 'unknown type “toString”'],
    ['a negative size', `{"a":${entry('F32', [-1], [0, 4])}}`, 4, 'the shape of tensor “a”'],
    ['a fraction', `{"a":${entry('F32', [0.5], [0, 2])}}`, 2, 'the shape of tensor “a”'],
    [
      'a size beyond safe numbers',
      `{"a":{"dtype":"F32","shape":[9007199254740993],"data_offsets":[0,4]}}`,
      4,
      'shape',
    ],
    ['a product that overflows', `{"a":${entry('F32', [2 ** 52, 2 ** 52, 0x1001], [0, 4])}}`, 4, 'needs'],
    ['a size that does not fit', `{"a":${entry('F32', [2], [0, 4])}}`, 4, 'not what F32 [2] needs'],
    ['the wrong key for offsets', `{"a":{"dtype":"F32","shape":[1],"offsets":[0,4]}}`, 4, 'data_offsets'],
    ['offsets that run backwards', `{"a":${entry('F32', [0], [4, 0])}}`, 4, 'two whole numbers in order'],
    ['a hole', `{"a":${entry('F32', [1], [4, 8])}}`, 8, 'a hole before tensor “a”'],
    ['an overlap', `{"a":${a},"b":${entry('F32', [1], [2, 6])}}`, 6, 'an overlap at tensor “b”'],
    ['bytes at the end', `{"a":${a}}`, 5, 'belong to no tensor'],
    ['missing data', `{"a":${a}}`, 3, 'cut off'],
    ['metadata that is not text', `{"__metadata__":{"n":1}}`, 0, 'metadata “n”'],
    ['a name of 1025 characters', `{"${'n'.repeat(1025)}":${a}}`, 4, 'longer than 1024'],
  ])('%s', (_, header, dataLength, problem) => {
    const path = fileWith(header, dataLength)
    const message = problemOf(path)
    expect(message).toContain(problem)
    expect(message).toContain(path)
  })

  test('a header longer than the file, or than any file', () => {
    expect(problemOf(fileWith('{}', 0, 3n))).toContain('claims a header of 3 bytes')
    expect(problemOf(fileWith('{}', 0, 2n ** 64n - 1n))).toContain('claims a header of')
  })

  test('no header at all', () => {
    const path = newPath()
    writeFileSync(path, 'short')
    expect(problemOf(path)).toContain('too short')
  })

  test('invalid UTF-8', () => {
    expect(problemOf(fileWith(Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x7d), 0))).toContain('UTF-8')
  })

  test('more tensors than any model has', () => {
    const entries = Array.from({ length: 100_001 }, (_, index) => `"${index}":${entry('F32', [0], [0, 0])}`)
    expect(problemOf(fileWith(`{${entries.join(',')}}`, 0))).toContain('100001 tensors')
  })

  test('a folder, a missing file', () => {
    expect(problemOf(folder)).toContain('not a file')
    expect(problemOf(join(folder, 'none'))).toContain('does not exist')
  })
})

describe('writing', () => {
  test('a failure leaves the old file and nothing else', async () => {
    const path = newPath()
    await writeSafetensors(path, [tensor('a', [1], [1])])
    const before = readFileSync(path)
    const broken: TensorToWrite = {
      name: 'a',
      dtype: 'F32',
      shape: [2],
      pieces: () => [new Uint8Array(4)],
    }
    const files = readdirSync(folder)
    await expect(writeSafetensors(path, [broken])).rejects.toThrow('Expected 8 bytes for “a”')
    expect(readFileSync(path)).toEqual(before)
    expect(readdirSync(folder)).toEqual(files)
  })

  test('a folder that is not there is one sentence', async () => {
    const path = join(folder, 'none', 'a.safetensors')
    await expect(writeSafetensors(path, [])).rejects.toMatchObject({ code: 'file/unwritable' })
  })
})

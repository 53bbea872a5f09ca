import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { AppError } from '#shared/errors.ts'
import type { LoraConfig } from '#engine/models/config.ts'
import { type GgufValue, writeGguf } from '#host/gguf/gguf.ts'
import { ggufLoraName, readGgufLora, writeGgufLora } from '#host/adapters/ggufLora.ts'
import { ggufProblem, permuteRows } from '#host/gguf/ggufNames.ts'
import { openGguf } from '#host/gguf/ggufReader.ts'
import { f32ToWrite, readTensor } from '#host/files/safetensors.ts'
import { exampleConfig } from '../../engine/models/exampleConfig.ts'
import { randomAdapter } from '../../engine/runtime/tinyModel.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const folder = temporaryFolder()
const place = (name: string): string => path.join(folder, name)

const metadata: readonly (readonly [string, GgufValue])[] = [
  ['general.architecture', { type: 'string', value: 'llama' }],
  ['a.u8', { type: 'uint8', value: 200 }],
  ['a.i8', { type: 'int8', value: -3 }],
  ['a.u16', { type: 'uint16', value: 60_000 }],
  ['a.i16', { type: 'int16', value: -300 }],
  ['a.u32', { type: 'uint32', value: 4_000_000_000 }],
  ['a.i32', { type: 'int32', value: -70_000 }],
  ['a.f32', { type: 'float32', value: 1.5 }],
  ['a.f64', { type: 'float64', value: Math.PI }],
  ['a.u64', { type: 'uint64', value: 2n ** 63n + 1n }],
  ['a.i64', { type: 'int64', value: -(2n ** 62n) }],
  ['a.yes', { type: 'bool', value: true }],
  ['a.texts', { type: 'array', of: 'string', items: ['ä', '', 'c'] }],
  ['a.numbers', { type: 'array', of: 'int32', items: Int32Array.of(-1, 2, 3) }],
  ['a.truths', { type: 'array', of: 'bool', items: Uint8Array.of(1, 0) }],
  ['a.big', { type: 'array', of: 'uint64', items: BigUint64Array.of(1n, 2n ** 63n) }],
]
const matrix = { name: 'blk.0.attn_q.weight', shape: [2, 3], data: Float32Array.of(1, 2, 3, 4, 5, 6) }
const vector = { name: 'output_norm.weight', shape: [1], data: Float32Array.of(7) }

function write(name: string): string {
  const file = place(name)
  writeGguf(file, { metadata: new Map(metadata), tensors: [matrix, vector].map(f32ToWrite) })
  return file
}

describe('the container', () => {
  test('what was written is read, each value in its type', () => {
    const { metadata: read, tensors, unreadable } = openGguf(write('whole.gguf'))
    expect([...read]).toEqual(metadata)
    expect(unreadable.size).toBe(0)
    expect([...tensors].map(([name, { shape, dtype }]) => [name, shape, dtype])).toEqual([
      ['blk.0.attn_q.weight', [2, 3], 'F32'],
      ['output_norm.weight', [1], 'F32'],
    ])
    expect([...tensors.values()].map((tensor) => [...readTensor(tensor)])).toEqual([[1, 2, 3, 4, 5, 6], [7]])
  })

  test('bytes are those of the format: magic, version, counts, dimensions fastest first, data on 32 bytes', () => {
    const file = place('bytes.gguf')
    writeGguf(file, { metadata: new Map(), tensors: [f32ToWrite(matrix)] })
    const name = Buffer.from('blk.0.attn_q.weight')
    const u32 = (value: number) => Buffer.from(Uint32Array.of(value).buffer)
    const u64 = (value: number) => Buffer.from(BigUint64Array.of(BigInt(value)).buffer)
    const header = Buffer.concat([
      ...[Buffer.from('GGUF'), u32(3), u64(1), u64(0)],
      ...[u64(name.length), name, u32(2), u64(3), u64(2), u32(0), u64(0)],
    ])
    const padded = Buffer.concat([header, Buffer.alloc(96 - header.length)])
    expect(header.length).toBeLessThan(96)
    const data = Buffer.concat([Buffer.from(matrix.data.buffer), Buffer.alloc(8)])
    expect(readFileSync(file).equals(Buffer.concat([padded, data]))).toBe(true)
  })

  const changed = (at: number, bytes: readonly number[]) => (whole: Buffer) => {
    whole.set(bytes, at)
    return whole
  }
  test.each<readonly [string, (whole: Buffer) => Buffer, RegExp]>([
    ['empty', () => Buffer.alloc(0), /too short for a header/],
    ['another magic', changed(0, [0]), /does not begin with "GGUF"/],
    ['an older version', changed(4, [2]), /its version is 2/],
    ['more tensors than bytes', changed(8, [255, 255, 255, 255, 255, 0, 0, 0]), /claims \d+ tensors/],
    ['more keys than bytes', changed(16, [0, 0, 0, 0, 0, 1, 0, 0]), /claims \d+ keys/],
    ['a count beyond numbers', changed(8, [255, 255, 255, 255, 255, 255, 255, 255]), /too large/],
    ['a key without end', changed(24, [255, 255, 255]), /key 1 is \d+ bytes long/],
    ['an unknown type', changed(24 + 8 + 20, [77]), /unknown type 77/],
    ['cut off', (whole) => whole.subarray(0, whole.length - 40), /contents end at byte/],
    ['something behind', (whole) => Buffer.concat([whole, Buffer.of(1)]), /contents end at byte/],
  ])('%s is refused', (_, change, problem) => {
    const file = write('broken.gguf')
    writeFileSync(file, change(readFileSync(file)))
    expect(() => openGguf(file)).toThrow(problem)
    expect(() => openGguf(file)).toThrow(AppError)
  })

  test.each<readonly [string, readonly (readonly [string, GgufValue])[], readonly string[], RegExp]>([
    ['an alignment of 12', [['general.alignment', { type: 'uint32', value: 12 }]], ['a'], /power of two/],
    ['one tensor twice', [], ['a', 'a'], /the tensor “a” appears twice/],
  ])('%s is refused', (_, keys, names, problem) => {
    const file = place('wrong.gguf')
    const tensors = names.map((name) => f32ToWrite({ ...vector, name }))
    writeGguf(file, { metadata: new Map(keys), tensors })
    expect(() => openGguf(file)).toThrow(problem)
  })

  test('a tensor that lies elsewhere than behind the one before it is refused', () => {
    const file = write('place.gguf')
    const bytes = readFileSync(file)
    const at = bytes.indexOf('output_norm.weight') + 'output_norm.weight'.length + 4 + 8 + 4
    bytes.writeBigUInt64LE(64n, at)
    writeFileSync(file, bytes)
    expect(() => openGguf(file)).toThrow(/is at offset 64, expected 32/)
  })
})

const lora: LoraConfig = { rank: 4, alpha: 6, rsLora: true, targets: ['q_proj', 'k_proj', 'down_proj'] }
const model = exampleConfig
const adapter = { config: lora, baseModel: 'some/model', tensors: randomAdapter(model, lora) }
const written = (name: string, dtype: 'F32' | 'F16' | 'BF16' = 'F32'): string => {
  const file = place(name)
  writeGgufLora(file, { adapter, model, dtype, name: 'mine', provenance: { step: '3' } })
  return file
}

describe('a LoRA adapter', () => {
  test('names, order, keys and alpha are as llama.cpp wants them', () => {
    const { metadata: keys, tensors } = openGguf(written('lora.gguf'))
    expect([...keys.keys()]).toEqual([
      'general.architecture',
      'general.type',
      'general.name',
      'general.base_model.count',
      'general.base_model.0.name',
      'general.base_model.0.repo_url',
      'adapter.type',
      'adapter.lora.alpha',
      'turnwise.step',
    ])
    // alpha·√r: llama.cpp divides by the rank.
    expect(keys.get('adapter.lora.alpha')).toEqual({ type: 'float32', value: 12 })
    expect([...tensors.keys()].slice(0, 6)).toEqual([
      'blk.0.attn_q.weight.lora_a',
      'blk.0.attn_q.weight.lora_b',
      'blk.0.attn_k.weight.lora_a',
      'blk.0.attn_k.weight.lora_b',
      'blk.0.ffn_down.weight.lora_a',
      'blk.0.ffn_down.weight.lora_b',
    ])
    const [slot] = adapter.tensors.filter(({ name }) => name.endsWith('q_proj.lora_B'))
    const read = readTensor(tensors.get(ggufLoraName(0, 'q_proj', 'B'))!)
    expect([...read]).not.toEqual([...slot!.data])
    expect([...read].sort()).toEqual([...slot!.data].sort())
  })

  test('rows of a head: halves become neighbours, and back', () => {
    const data = Float32Array.from({ length: 16 }, (_, index) => index)
    const rows = { heads: 2, rows: 16 }
    expect([...permuteRows(data, rows)]).toEqual([0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15])
    expect([...permuteRows(permuteRows(data, rows), { ...rows, back: true })]).toEqual([...data])
  })

  test('what is read back is what was trained, with the scale in alpha', () => {
    const read = readGgufLora(written('back.gguf'), model)
    expect(read.config).toEqual({
      rank: 4,
      alpha: 12,
      rsLora: false,
      targets: ['q_proj', 'k_proj', 'down_proj'],
    })
    expect(read.tensors).toEqual(adapter.tensors)
    expect(read.baseModel).toBe('some/model')
  })

  test.each([
    ['F16', 2 ** -11],
    ['BF16', 2 ** -8],
  ] as const)('%s is rounded to nearest', (dtype, roundoff) => {
    const read = readGgufLora(written(`${dtype}.gguf`, dtype), model)
    for (const [index, { data }] of adapter.tensors.entries()) {
      data.forEach((value, at) => {
        const error = Math.abs(value - read.tensors[index]!.data[at]!)
        expect(error).toBeLessThanOrEqual(roundoff * Math.abs(value) + 2 ** -25)
      })
    }
  })

  test('another architecture, another kind of file and an unknown family are refused by name', () => {
    const file = written('refused.gguf')
    expect(() => readGgufLora(file, { ...model, architecture: 'qwen2' })).toThrow(
      /must say “qwen2”.*it is “llama”/,
    )
    expect(() => readGgufLora(write('model.gguf'), model)).toThrow(/must say “adapter” under general.type/)
    expect(ggufProblem({ architecture: 'mamba' })).toMatch(/mamba/)
    expect(ggufProblem(model)).toBeNull()
  })

  test('numbers that are none are not written', () => {
    const [first, ...rest] = adapter.tensors
    const broken = { ...adapter, tensors: [{ ...first!, data: first!.data.with(0, NaN) }, ...rest] }
    const file = place('nan.gguf')
    expect(() =>
      writeGgufLora(file, { adapter: broken, model, dtype: 'F32', name: '', provenance: {} }),
    ).toThrow(/not a finite number/)
  })
})

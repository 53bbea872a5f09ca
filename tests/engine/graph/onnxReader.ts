/** Reads back what the writer wrote, by the field numbers of onnx.proto; knows nothing of the writer. */

type Field = { readonly number: number; readonly value: bigint | Uint8Array }

/** The fields of one protocol-buffer message, in order. */
export function readFields(bytes: Uint8Array): Field[] {
  const fields: Field[] = []
  let at = 0
  const varint = (): bigint => {
    let [value, shift] = [0n, 0n]
    for (;;) {
      const byte = bytes[at++]
      if (byte === undefined) throw new Error('The message ends within a number.')
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
      shift += 7n
    }
  }
  const take = (length: number): Uint8Array => {
    if (at + length > bytes.length) throw new Error('The message ends within a field.')
    at += length
    return bytes.subarray(at - length, at)
  }
  while (at < bytes.length) {
    const tag = Number(varint())
    const number = tag >> 3
    const wireType = tag & 7
    if (wireType === 0) fields.push({ number, value: varint() })
    else if (wireType === 2) fields.push({ number, value: take(Number(varint())) })
    else if (wireType === 5) fields.push({ number, value: take(4) })
    else throw new Error(`Wire type ${String(wireType)} is not used in ONNX files.`)
  }
  return fields
}

const text = (bytes: Uint8Array | bigint): string => new TextDecoder().decode(bytes as Uint8Array)
const all = (fields: readonly Field[], number: number) =>
  fields.filter((field) => field.number === number).map(({ value }) => value)
const texts = (fields: readonly Field[], number: number): string[] => all(fields, number).map(text)
const messages = (fields: readonly Field[], number: number): Field[][] =>
  all(fields, number).map((value) => readFields(value as Uint8Array))
const signed = (value: bigint | Uint8Array): number => Number(BigInt.asIntN(64, value as bigint))
const integer = (fields: readonly Field[], number: number): number => signed(all(fields, number)[0] ?? 0n)

export interface ReadNode {
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  readonly type: string
  readonly domain: string
  readonly attributes: Readonly<Record<string, number | readonly number[]>>
}

export interface ReadTensor {
  readonly name: string
  readonly dims: readonly number[]
  readonly dataType: number
  readonly raw: Uint8Array | null
  readonly external: Readonly<Record<string, string>> | null
}

export interface ReadValue {
  readonly name: string
  readonly elementType: number
  readonly dims: readonly (number | string)[]
}

export interface ReadModel {
  readonly irVersion: number
  readonly opsets: Readonly<Record<string, number>>
  readonly nodes: readonly ReadNode[]
  readonly initializers: readonly ReadTensor[]
  readonly inputs: readonly ReadValue[]
  readonly outputs: readonly ReadValue[]
}

export function readOnnx(bytes: Uint8Array): ReadModel {
  const model = readFields(bytes)
  const graph = messages(model, 7)[0] ?? []
  return {
    irVersion: integer(model, 1),
    opsets: Object.fromEntries(
      messages(model, 8).map((opset) => [texts(opset, 1)[0] ?? '', integer(opset, 2)]),
    ),
    nodes: messages(graph, 1).map(readNode),
    initializers: messages(graph, 5).map(readTensor),
    inputs: messages(graph, 11).map(readValue),
    outputs: messages(graph, 12).map(readValue),
  }
}

const readNode = (node: readonly Field[]): ReadNode => ({
  inputs: texts(node, 1),
  outputs: texts(node, 2),
  type: texts(node, 4)[0] ?? '',
  domain: texts(node, 7)[0] ?? '',
  attributes: Object.fromEntries(
    messages(node, 5).map((attribute) => [texts(attribute, 1)[0] ?? '', readAttribute(attribute)]),
  ),
})

function readAttribute(attribute: readonly Field[]): number | readonly number[] {
  const type = integer(attribute, 20)
  if (type === 2) return integer(attribute, 3)
  if (type === 7) return all(attribute, 8).map(signed)
  const bytes = all(attribute, 2)[0] as Uint8Array
  return new DataView(bytes.buffer, bytes.byteOffset, 4).getFloat32(0, true)
}

function readTensor(tensor: readonly Field[]): ReadTensor {
  const entries = messages(tensor, 13).map(
    (entry) => [texts(entry, 1)[0] ?? '', texts(entry, 2)[0] ?? ''] as const,
  )
  return {
    name: texts(tensor, 8)[0] ?? '',
    dims: all(tensor, 1).map(signed),
    dataType: integer(tensor, 2),
    raw: (all(tensor, 9)[0] as Uint8Array | undefined) ?? null,
    external: integer(tensor, 14) === 1 ? Object.fromEntries(entries) : null,
  }
}

function readValue(info: readonly Field[]): ReadValue {
  const tensor = messages(messages(info, 2)[0] ?? [], 1)[0] ?? []
  const dims = messages(messages(tensor, 2)[0] ?? [], 1)
  return {
    name: texts(info, 1)[0] ?? '',
    elementType: integer(tensor, 1),
    dims: dims.map((dim) => texts(dim, 2)[0] ?? integer(dim, 1)),
  }
}

/** How many nodes of each operator type. */
export function countTypes({ nodes }: ReadModel): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { type } of nodes) counts[type] = (counts[type] ?? 0) + 1
  return counts
}

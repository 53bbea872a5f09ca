/** What the tables of kernels say of a signature (programs.ts). */

/** A line of the runtime's list of kernels. */
export interface KernelRow {
  /** `13+`, or `[11, 12]` of versions that are past. */
  readonly versions: string
  /** The ways to call it: the name of a type, or the type itself, of each input and output. */
  readonly forms: readonly { readonly inputs: readonly string[]; readonly outputs: readonly string[] }[]
  /** What the names stand for; one that stands for nothing is free. */
  readonly types: Readonly<Record<string, readonly string[]>>
}

/** The version of the standard operators that programs are written in. */
const OPSET = 21

const tensors: Readonly<Record<string, string>> = {
  float32: 'tensor(float)',
  float64: 'tensor(double)',
}

/** Whether a row has a kernel for these types; a list ends with `…` where its last type repeats. */
export function isCovered(signature: string, rows: readonly KernelRow[]): boolean {
  const [, read, given] = /^[^(]+\((.*)\) → (.*)$/.exec(signature) ?? []
  if (read === undefined || given === undefined) throw new Error(`${signature} is no signature.`)
  const isStandard = !signature.startsWith('com.')
  return rows.some(
    ({ versions, forms, types }) =>
      (!isStandard || Number(/^(\d+)\+/.exec(versions)?.[1]) <= OPSET) &&
      forms.some(({ inputs, outputs }) => isTaken(read, inputs, types) && isTaken(given, outputs, types)),
  )
}

function isTaken(list: string, names: readonly string[], types: KernelRow['types']): boolean {
  const given = list.replace('…', '').split(', ')
  return given.every((dtype, index) => {
    const name = names[index] ?? (list.endsWith('…') ? names.at(-1) : undefined)
    if (name === undefined) return false
    const allowed = name.startsWith('tensor') ? [name] : types[name]
    return dtype === 'none' || (allowed?.includes(tensors[dtype] ?? `tensor(${dtype})`) ?? true)
  })
}

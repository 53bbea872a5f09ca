import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Dtype, Value } from '#engine/graph/value.ts'
import { weight } from '#engine/graph/value.ts'

/** A weight of a graph that lies in a file of `folder`. */
export function storedIn(folder: string) {
  return (name: string, dtype: Dtype, shape: readonly number[], bytes: Uint8Array): Value => {
    const file = join(folder, name)
    writeFileSync(file, bytes)
    return weight(name, { file, offset: 0, byteLength: bytes.length, shape }, dtype)
  }
}

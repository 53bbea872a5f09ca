/** What a reader is fuzzed with. */
import { writeFileSync } from 'node:fs'
import type { JsonShape } from './structures.ts'

/** A file to be changed, and how it is read where it lies. */
export interface FuzzTarget {
  readonly name: string
  readonly original: Buffer
  /** The file that the variants are written to. */
  readonly file: string
  readonly read: () => void | Promise<void>
}

export interface FuzzReader {
  readonly name: string
  /** Files in a folder of their own. */
  readonly targets: (folder: string) => readonly FuzzTarget[] | Promise<readonly FuzzTarget[]>
  /** Bytes in which the file says what is in it: most changes hit these. */
  readonly header: (content: Buffer) => readonly [start: number, end: number]
  /** Where the JSON is in a file that has some: half of the variants are sound JSON with other contents. */
  readonly json?: JsonShape
  /** Most that one allocation may be: so many times the file, and a part that every reader needs. */
  readonly allocation: { readonly perByte: number; readonly fixed: number }
}

/** The reader's targets. Each is read once as it is: what cannot be read whole proves nothing when broken. */
export async function openTargets(reader: FuzzReader, folder: string): Promise<readonly FuzzTarget[]> {
  const targets = await reader.targets(folder)
  if (targets.length === 0) throw new Error(`There is no file to fuzz ${reader.name} with.`)
  for (const target of targets) {
    writeFileSync(target.file, target.original)
    await target.read()
  }
  return targets
}

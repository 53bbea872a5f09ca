/** Readers with planted faults, one each, for the test that they are found. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { AppError } from '#shared/errors.ts'
import type { FuzzReader } from '../../scripts/fuzz/targets.ts'

/** Reads a changed file as `whenChanged` does; as it is, every reader can read it. */
function faulty(name: string, whenChanged: (content: Buffer) => void | Promise<void>): FuzzReader {
  const original = Buffer.from('{"a":[1,2,3],"b":"text"}')
  return {
    name,
    header: (content) => [0, content.length],
    allocation: { perByte: 2, fixed: 1 << 14 },
    targets: (folder) => {
      const file = path.join(folder, 'file')
      const read = (): void | Promise<void> => {
        const content = readFileSync(file)
        return content.equals(original) ? undefined : whenChanged(content)
      }
      return [{ name: 'file', original, file, read }]
    },
  }
}

const refused = (message: string): AppError => new AppError('data/invalid', message)

export const fuzzReaders: readonly FuzzReader[] = [
  faulty('sound', (content) => {
    if (content.length % 2 === 0) throw refused('The file has an even number of bytes.')
  }),
  faulty('throws', () => {
    throw new TypeError('undefined is not a function')
  }),
  faulty('rejects', () => Promise.reject(new RangeError('Out of bounds'))),
  faulty('mumbles', () => {
    throw refused('bad\nfile')
  }),
  faulty('allocates', () => {
    new Uint8Array(10_000_000).fill(1)
  }),
  faulty('allocates-buffer', () => void Buffer.alloc(10_000_000)),
  faulty('allocates-list', () => {
    new Array(10_000_000).fill(0)
  }),
  faulty('grows', () => {
    const kept: unknown[] = []
    const much = Array.from({ length: 10_000 }, (_, index) => index)
    for (;;) kept.push([...much])
  }),
  faulty('dawdles', () => {
    const end = process.cpuUsage().user + 2_100_000
    let sum = 0
    while (process.cpuUsage().user < end)
      for (let index = 0; index < 1e6; index++) sum += Math.sqrt(index + sum)
  }),
  faulty('hangs', () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)),
  faulty('dies', () => process.abort()),
  faulty('leaves', () => process.exit(0)),
]

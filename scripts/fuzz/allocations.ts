/**
 * Counts what code asks the machine for: every array buffer, typed array, buffer and sized array made while a recording
 * runs. To be installed before the code under test is loaded.
 */
interface Recording {
  largestBytes: number
  largest: string
}

let current: Recording | null = null

function note(what: string, bytes: number): void {
  if (current === null || !(bytes > current.largestBytes)) return
  current.largestBytes = bytes
  current.largest = what
}

/** An array's elements are pointers. */
const pointerBytes = 8

const typedArrays = [
  'Uint8Array',
  'Int8Array',
  'Uint8ClampedArray',
  'Uint16Array',
  'Int16Array',
  'Uint32Array',
  'Int32Array',
  'Float32Array',
  'Float64Array',
  'BigInt64Array',
  'BigUint64Array',
] as const

type Constructor = new (...args: unknown[]) => object

/** Watches `new Name(length)`; views of memory that is there already cost nothing. */
function watchConstructor(name: string, elementBytes: number): void {
  const original = Reflect.get(globalThis, name) as Constructor
  const watched = new Proxy(original, {
    construct(target, args: unknown[], newTarget) {
      if (args.length === 1 && typeof args[0] === 'number') note(name, args[0] * elementBytes)
      return Reflect.construct(target, args, newTarget) as object
    },
  })
  Reflect.set(globalThis, name, watched)
}

/** From now on everything is counted while `recordAllocations` runs. */
export function watchAllocations(): void {
  watchConstructor('ArrayBuffer', 1)
  watchConstructor('SharedArrayBuffer', 1)
  watchConstructor('Array', pointerBytes)
  for (const name of typedArrays) {
    const { BYTES_PER_ELEMENT: bytes } = globalThis[name]
    watchConstructor(name, bytes)
  }
  for (const name of ['alloc', 'allocUnsafe', 'allocUnsafeSlow'] as const) {
    const original = Buffer[name].bind(Buffer) as (size: number, ...rest: unknown[]) => Buffer
    Reflect.set(Buffer, name, (size: number, ...rest: unknown[]) => {
      note(`Buffer.${name}`, size)
      return original(size, ...rest)
    })
  }
}

/** The largest single allocation that `work` asks for; it must not overlap with another recording. */
export async function recordAllocations(work: () => void | Promise<void>): Promise<Readonly<Recording>> {
  const recording: Recording = { largestBytes: 0, largest: 'nothing' }
  current = recording
  try {
    await work()
  } finally {
    current = null
  }
  return recording
}

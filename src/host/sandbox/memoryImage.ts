import type {
  JSBorrowedCharPointer,
  JSContextPointer,
  JSRuntimePointer,
  QuickJSContext,
  QuickJSHandle,
  QuickJSWASMModule,
} from 'quickjs-emscripten-core'

/**
 * A photograph of a virtual machine's memory. Every call of user code begins from the same photograph: whatever the
 * call before it changed (globals, prototypes, module variables, the heap itself) is gone, at the price of copying some
 * hundred kilobytes.
 *
 * A WebAssembly instance has no state besides its linear memory and, between calls, a stack pointer that is back at the
 * top. Its memory is laid out as [data][stack][heap]; the stack holds nothing between calls and is left out.
 */
const pageBytes = 65_536

export interface MemoryImage {
  readonly sizeBytes: number
  /** Puts the memory back. What lies beyond the photographed heap was never allocated then, so it does not matter. */
  restore(): void
}

/** A WebAssembly.Memory. */
export interface LinearMemory {
  /** Another one after the memory has grown; the old one is empty then. */
  readonly buffer: ArrayBuffer
}

/** `firstHeapByte` is the address of the instance's very first allocation. */
export function photograph(memory: LinearMemory, firstHeapByte: number): MemoryImage {
  let view = new Uint8Array(memory.buffer)
  const used = usedPages(view)
  const heapPage = Math.floor(firstHeapByte / pageBytes)
  const dataEnd = endOfData(used, heapPage) * pageBytes
  const heapStart = heapPage * pageBytes
  // The allocator marks the end of what it holds, so the last used page is the last page of the heap.
  const heapEnd = (used.lastIndexOf(true) + 1) * pageBytes
  const data = view.slice(0, dataEnd)
  const heap = view.slice(heapStart, heapEnd)
  return {
    sizeBytes: data.length + heap.length,
    restore() {
      // Growing the memory detaches the view.
      if (view.length === 0) view = new Uint8Array(memory.buffer)
      view.set(data, 0)
      view.set(heap, heapStart)
    },
  }
}

/** Marks the pages that hold anything but zeros. */
function usedPages(bytes: Uint8Array): boolean[] {
  const zeros = new Uint8Array(pageBytes)
  return Array.from({ length: bytes.length / pageBytes }, (_, page) => {
    const start = page * pageBytes
    return Buffer.compare(bytes.subarray(start, start + pageBytes), zeros) !== 0
  })
}

/** The data ends where the part of the stack that was never reached begins: the longest run of zero pages. */
function endOfData(used: readonly boolean[], heapPage: number): number {
  let [end, longest, start] = [heapPage, 0, 0]
  for (let page = 0; page < heapPage; page++) {
    if (used[page] === true) start = page + 1
    else if (page + 1 - start > longest) [end, longest] = [start, page + 1 - start]
  }
  return end
}

// Text into a virtual machine's memory, by parts of the library that its types hide.

interface Allocator {
  _malloc(sizeBytes: number): number
  _free(address: number): void
  readonly HEAPU8: Uint8Array
}

const allocatorOf = (instance: QuickJSWASMModule): Allocator =>
  (instance as unknown as { readonly module: Allocator }).module

/** The address of a first allocation, freed again. */
export function firstAllocation(instance: QuickJSWASMModule): number {
  const allocator = allocatorOf(instance)
  const address = allocator._malloc(16)
  allocator._free(address)
  return address
}

/** Makes a string as `context.newString` does, whose loop over characters takes longer than a typical reward function. */
export function newText(instance: QuickJSWASMModule, context: QuickJSContext, text: string): QuickJSHandle {
  const allocator = allocatorOf(instance)
  const sizeBytes = Buffer.byteLength(text)
  const address = allocator._malloc(sizeBytes + 1)
  if (address === 0) throw new RangeError('Out of memory.')
  const bytes = Buffer.from(allocator.HEAPU8.buffer, address, sizeBytes + 1)
  bytes.write(text, 'utf8')
  bytes[sizeBytes] = 0
  const { ctx, rt } = context as unknown as {
    readonly ctx: { readonly value: JSContextPointer }
    readonly rt: { readonly value: JSRuntimePointer }
  }
  const pointer = instance.getFFI().QTS_NewString(ctx.value, address as JSBorrowedCharPointer)
  allocator._free(address)
  return context.getMemory(rt.value).heapValueHandle(pointer)
}

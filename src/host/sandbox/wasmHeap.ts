/** Text into a virtual machine's memory, by parts of the library that its types hide. */
import type {
  JSBorrowedCharPointer,
  JSContextPointer,
  JSRuntimePointer,
  QuickJSContext,
  QuickJSHandle,
  QuickJSWASMModule,
} from 'quickjs-emscripten-core'

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

/** As `context.newString`, whose loop over characters takes longer than a typical reward function. */
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

import { fileURLToPath } from 'node:url'

/** The virtual machine itself: QuickJS in WebAssembly, under the MIT licence. */
export const wasmFile = (): string =>
  fileURLToPath(import.meta.resolve('@jitl/quickjs-wasmfile-release-sync/wasm'))

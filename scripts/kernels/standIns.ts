/**
 * Stand-ins for NVIDIA's driver and libraries, which answer every call with success and lend memory of the host: enough for
 * the CUDA provider to start and to place nodes, and to compute nothing.
 *
 *   node scripts/kernels/standIns.ts LIBRARY_FOLDER OUT_FOLDER
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/** Calls that must answer with more than success. */
const memory = `
#include <stdlib.h>
#include <string.h>
#define LEND(name) long name(void **p, size_t n) { *p = malloc(n ? n : 1); return 0; }
#define TAKE(name) long name(void *p) { free(p); return 0; }
LEND(cudaMalloc) LEND(cudaMallocHost) TAKE(cudaFree) TAKE(cudaFreeHost)
long cudaHostAlloc(void **p, size_t n, unsigned flags) { *p = malloc(n ? n : 1); return 0; }
long cudaMemcpy(void *to, const void *from, size_t n, int kind) { memcpy(to, from, n); return 0; }
long cudaMemcpyAsync(void *to, const void *from, size_t n, int kind, void *s) { memcpy(to, from, n); return 0; }
long cudaMemGetInfo(size_t *available, size_t *total) { *available = *total = (size_t)8 << 30; return 0; }
long cudaGetDevice(int *device) { *device = 0; return 0; }
long cudaGetDeviceCount(int *count) { *count = 1; return 0; }
long cudaGetDeviceProperties(void *properties, int device) { memset(properties, 0, 1008); return 0; }
`

/** Builds stand-ins for all libraries that the provider in `library` is linked with, and for the driver, with gcc. */
export function buildStandIns(library: string, folder: string): void {
  const provider = path.join(library, 'libonnxruntime_providers_cuda.so')
  const text = (command: string, ...args: string[]) =>
    execFileSync(command, args, { encoding: 'utf8', maxBuffer: 2 ** 26 })
  const found = (output: string, pattern: RegExp) =>
    Array.from(output.matchAll(pattern), ([, name = '']) => name)
  const needed = found(text('readelf', '-d', provider), /NEEDED.*\[(lib(?:cu|nv)[^\]]+)\]/g)
  const symbols = found(text('nm', '-D', '--undefined-only', provider), / U (_*(?:cu|nvrtc)\w+)/gi)
  const written = new Set(found(memory, /(?:long |LEND\(|TAKE\()(cuda\w+)/g))
  const others = [...new Set(symbols)].filter((name) => !written.has(name))
  const source = path.join(folder, 'standIns.c')
  writeFileSync(source, `${memory}${others.map((name) => `long ${name}() { return 0; }`).join('\n')}\n`)
  for (const name of ['libcuda.so.1', ...needed]) {
    text('gcc', '-w', '-shared', '-fPIC', '-o', path.join(folder, name), source, `-Wl,-soname,${name}`)
  }
}

const [library, folder] = process.argv.slice(2)
if (import.meta.main && library !== undefined && folder !== undefined) {
  mkdirSync(folder, { recursive: true })
  buildStandIns(path.resolve(library), path.resolve(folder))
}

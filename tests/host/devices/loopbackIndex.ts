/** A package index on this machine with tiny wheels, and the recipe that makes the CUDA library of them. */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { crc32, deflateRawSync } from 'node:zlib'
import type { CudaRecipe } from '../../../scripts/cuda/recipe.ts'

const any = /\.whl$/

export const tinyRecipe: CudaRecipe = {
  runtime: '1.30.0',
  platform: 'linux-x64',
  wheels: [
    { package: 'runtime-gpu', version: '1.0', tag: any, takes: /\/libonnxruntime_providers_cuda\.so$/ },
    { package: 'vendor-blas', version: '13.1', tag: any, takes: /\/libblas(?:Lt)?\.so\.13$/ },
  ],
}

/** Not to be packed tightly: parts must be long enough to be cut. */
function noise(length: number, seed: number): Buffer {
  const bytes = Buffer.alloc(length)
  let state = seed
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    bytes[i] = state >>> 24
  }
  return bytes
}

export const tinyFiles: Readonly<Record<string, Buffer>> = {
  'libonnxruntime_providers_cuda.so': noise(300_000, 1),
  'libblas.so.13': noise(5_000, 2),
  'libblasLt.so.13': noise(200_000, 3),
}

const wheels: Readonly<Record<string, readonly [string, Buffer]>> = {
  'runtime-gpu': [
    'runtime_gpu-1.0-cp314-cp314-linux_x86_64.whl',
    zip({
      'gpu/METADATA': Buffer.from('Name: x'),
      'gpu/libonnxruntime_providers_cuda.so': tinyFiles['libonnxruntime_providers_cuda.so'],
    }),
  ],
  'vendor-blas': [
    'vendor_blas-13.1-py3-none-linux_x86_64.whl',
    zip({
      'nvidia/lib/libnvblas.so.13': noise(4_000, 4),
      'nvidia/lib/libblas.so.13': tinyFiles['libblas.so.13'],
      'nvidia/lib/libblasLt.so.13': tinyFiles['libblasLt.so.13'],
    }),
  ],
}

/** An archive of deflated files, with more beside each of them than the directory says, as some writers leave it. */
function zip(files: Readonly<Record<string, Buffer | undefined>>): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let at = 0
  for (const [name, content = Buffer.alloc(0)] of Object.entries(files)) {
    const packed = deflateRawSync(content)
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt16LE(8, 4)
    common.writeUInt32LE(crc32(content), 10)
    common.writeUInt32LE(packed.length, 14)
    common.writeUInt32LE(content.length, 18)
    common.writeUInt16LE(name.length, 22)
    const local = Buffer.from(common)
    local.writeUInt16LE(4, 24)
    const place = Buffer.alloc(14)
    place.writeUInt32LE(at, 10)
    directory.push(mark(0x02014b50), mark(20).subarray(0, 2), common, place, Buffer.from(name))
    const piece = [mark(0x04034b50), local, Buffer.from(name), Buffer.from([1, 0, 0, 0]), packed]
    parts.push(...piece)
    at += piece.reduce((sum, { length }) => sum + length, 0)
  }
  const listed = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(Object.keys(files).length, 10)
  end.writeUInt32LE(listed.length, 12)
  end.writeUInt32LE(at, 16)
  return Buffer.concat([...parts, listed, end])
}

function mark(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

const sha = (content: Buffer): string => createHash('sha256').update(content).digest('hex')

export interface Fault {
  /** Breaks the connection after so many bytes of a range, once. */
  cutAfter: number | null
  /** Sends other bytes of wheels than it has. */
  lies: boolean
  /** States digests of other wheels. */
  statesOthers: boolean
  /** Knows no ranges, as some mirrors. */
  ignoresRanges: boolean
  /** Only the older pages of links. */
  hasHtmlOnly: boolean
  /** Between two pieces of 20 kB; Infinity: until it is changed. */
  pauseMs: number
  readonly asked: string[]
}

export interface LoopbackIndex extends AsyncDisposable {
  /** Such as http://127.0.0.1:1234/simple. */
  readonly index: string
  readonly fault: Fault
}

function answer(fault: Fault, request: IncomingMessage, response: ServerResponse): void {
  const [, kind, name = ''] = (request.url ?? '').split('/')
  fault.asked.push(`${kind} ${name} ${request.headers.range ?? ''}`.trim())
  const listed = kind === 'simple' ? wheels[name] : undefined
  const wheel = kind === 'files' ? Object.values(wheels).find(([file]) => file === name)?.[1] : undefined
  if (listed !== undefined) sendPage(fault, listed, response)
  else if (wheel !== undefined) void sendWheel(fault, wheel, request, response)
  else response.writeHead(404).end()
}

function sendPage(
  { hasHtmlOnly, statesOthers }: Fault,
  [file, content]: readonly [string, Buffer],
  response: ServerResponse,
) {
  const sha256 = statesOthers ? sha(Buffer.from('another')) : sha(content)
  const url = `../../files/${file}`
  response.setHeader('content-type', hasHtmlOnly ? 'text/html' : 'application/vnd.pypi.simple.v1+json')
  response.end(
    hasHtmlOnly
      ? `<html><a class="x" href="${url}#sha256=${sha256}">${file}</a></html>`
      : JSON.stringify({ files: [{ filename: file, url, size: content.length, hashes: { sha256 } }] }),
  )
}

async function sendWheel(fault: Fault, wheel: Buffer, request: IncomingMessage, response: ServerResponse) {
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? []
  const isPart = from !== undefined && !fault.ignoresRanges
  const body = Buffer.from(isPart ? wheel.subarray(Number(from), Number(to) + 1) : wheel)
  if (fault.lies) body[body.length - 1] = (body.at(-1) ?? 0) ^ 1
  response.writeHead(isPart ? 206 : 200, { 'content-length': String(body.length) })
  const cut = fault.cutAfter ?? Infinity
  if (body.length <= cut) {
    await sendSlowly(fault, body, response)
    response.end()
    return
  }
  fault.cutAfter = null
  await sendSlowly(fault, body.subarray(0, cut), response)
  await setTimeout(50)
  response.destroy()
}

const pieceBytes = 20_000

async function sendSlowly(fault: Fault, body: Buffer, response: ServerResponse): Promise<void> {
  for (let at = 0; at < body.length && isOpen(response); at += pieceBytes) {
    response.write(body.subarray(at, at + pieceBytes))
    for (let waited = 0; waited < fault.pauseMs && isOpen(response); waited += lookEveryMs)
      await setTimeout(Math.min(lookEveryMs, fault.pauseMs - waited))
  }
}

/** A function: it changes while the loop waits. */
const isOpen = ({ destroyed }: ServerResponse): boolean => !destroyed

const lookEveryMs = 20

export const honest = (): Fault => ({
  cutAfter: null,
  lies: false,
  statesOthers: false,
  ignoresRanges: false,
  hasHtmlOnly: false,
  pauseMs: 0,
  asked: [],
})

export async function startIndex(): Promise<LoopbackIndex> {
  const fault = honest()
  const server = createServer((request, response) => answer(fault, request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    index: `http://127.0.0.1:${typeof address === 'object' ? (address?.port ?? 0) : 0}/simple`,
    fault,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/**
 * Asks the CUDA provider of the pinned runtime where it places every node of our programs, on a machine without a card:
 * `node scripts/kernels/cuda.ts FOLDER`, where FOLDER holds the library (`turnwise device install cuda`). Writes
 * tests/fixtures/kernels/cuda.json.
 *
 * The provider decides by its own registry of kernels before anything is computed; only the libraries of NVIDIA that it is
 * linked with must be there. Here they are stand-ins (standIns.ts).
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { writeChoice } from '#engine/ops/branches.ts'
import { writeOnnx, type OnnxModel } from '#engine/graph/onnx.ts'
import { apply, input, type OpNode } from '#engine/graph/value.ts'
import { integerMatmulOp } from '#engine/ops/frozenMatmul.ts'
import { dialectOf, sessionOptions } from '#engine/runtime/device.ts'
import { InferenceSession } from '#engine/runtime/onnxRuntime.ts'
import { cudaFolderVariable, type Device } from '#shared/device.ts'
import { allKernels, familyShapes, kernelsOf, withPrograms } from './programs.ts'
import { buildStandIns } from './standIns.ts'

const device: Device = { kind: 'cuda', threads: 1, deviceId: 0 }
const output = path.join(import.meta.dirname, '../../tests/fixtures/kernels/cuda.json')

/** Nodes of a model by provider; what is on the CPU by name. */
interface Placement {
  readonly cuda: number
  readonly cpu: readonly string[]
  /** Copies between host and device that the runtime put into the graph. */
  readonly copies: number
}

/** Everything below a line like this was said of that model. */
const heading = (name: string) => `\n=== ${name} ===\n`

/** Opens a session that says where its nodes are. That it cannot be made in the end is nobody's concern. */
async function place(name: string, { bytes, externalFolder }: OnnxModel): Promise<void> {
  writeSync(2, heading(name))
  const options = sessionOptions(device, 'learn')
  const folder =
    externalFolder === null ? {} : { model_external_initializers_file_folder_path: externalFolder }
  const extra = { ...options.extra, session: { ...(options.extra?.['session'] as object), ...folder } }
  const made = await InferenceSession.create(bytes, { ...options, logSeverityLevel: 0, extra }).catch(
    () => null,
  )
  await made?.release()
}

/** A model of that node alone; what it reads are inputs, but for constants. */
function alone({ op, inputs, attributes, outputs }: OpNode): OnnxModel {
  const read = inputs.map((value, index) =>
    value === null || value.node.kind === 'constant'
      ? value
      : input(`x${String(index)}`, value.dtype, value.shape),
  )
  const made = apply(op, read, attributes, outputs)
  const program = Object.fromEntries(made.map((value, index) => [`y${String(index)}`, value]))
  return writeOnnx('one node', program, dialectOf(device))
}

/** A product of 8-bit rows, of which CUDA has no kernel: that the provider says so shows that it is asked. */
function unknownToCuda(): Map<string, OpNode> {
  const scale = input('scale', 'float32', [])
  const weight = input('weight', 'int8', [8, 8])
  const read = [input('x', 'uint8', ['N', 8]), weight, scale, scale]
  const [product] = apply(integerMatmulOp, read, {}, [{ dtype: 'float32', shape: ['N', 8] }])
  return kernelsOf({ unknown: product ? { product } : {} })
}

async function askAll(): Promise<void> {
  const kernels = [...(await allKernels('cuda')), ...unknownToCuda()]
  for (const [signature, node] of kernels) await place(signature, alone(node))
  for (const shape of familyShapes) {
    await withPrograms({ shape }, 'loop', (programs) =>
      place(shape, writeChoice(shape, programs, dialectOf(device))),
    )
  }
}

/** What the runtime says of a model: for each provider a heading, below it the nodes, unless all are of one. */
function placementOf(log: string): Placement {
  const headings = [
    ...log.matchAll(
      /(All nodes|Node\(s\)) placed on \[(\w+)\]\. Number of nodes: (\d+)([\s\S]*?)(?=Node\(s\) placed on |$)/g,
    ),
  ]
  if (headings.length === 0) throw new Error(`Nothing was placed:\n${log.slice(-2000)}`)
  const place = { cuda: 0, cpu: [] as string[], copies: [...log.matchAll(/AddCopyNode/g)].length }
  for (const [, whole, provider, count, nodes = ''] of headings) {
    if (provider === 'CUDAExecutionProvider') place.cuda += Number(count)
    else if (whole === 'All nodes') place.cpu.push('all')
    else place.cpu.push(...Array.from(nodes.matchAll(/\]\s+\w+ \((\w+?)_.*\)$/gm), ([, name = '']) => name))
  }
  return place
}

function askInProcess(library: string): Record<string, Placement> {
  const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-cuda-'))
  try {
    buildStandIns(library, folder)
    const env = { ...process.env, LD_LIBRARY_PATH: folder, [cudaFolderVariable]: library }
    const { stderr } = spawnSync(process.execPath, [import.meta.filename, '--ask'], {
      env,
      encoding: 'utf8',
      maxBuffer: 2 ** 30,
    })
    const said = stderr.split(/\n=== (?=.* ===\n)/).slice(1)
    return Object.fromEntries(
      said.map((text) => {
        const end = text.indexOf(' ===\n')
        return [text.slice(0, end), placementOf(text.slice(end))]
      }),
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function writeTable(library: string): void {
  const { version } = JSON.parse(
    readFileSync(path.join(import.meta.dirname, '../../node_modules/onnxruntime-node/package.json'), 'utf8'),
  ) as { readonly version: string }
  const placements = askInProcess(library)
  const isFamily = (name: string) => familyShapes.includes(name)
  const kernels = Object.entries(placements).flatMap(([name, { cpu }]) =>
    isFamily(name) ? [] : [[name, cpu.length === 0 ? 'CUDA' : 'CPU'] as const],
  )
  const models = Object.entries(placements).flatMap(([name, { cuda, cpu, copies }]) =>
    isFamily(name) ? [[name, { cuda, cpu: [...new Set(cpu)], copies }] as const] : [],
  )
  const table = { runtime: version, kernels: Object.fromEntries(kernels), models: Object.fromEntries(models) }
  writeFileSync(output, `${JSON.stringify(table, null, 2)}\n`)
}

const [argument] = process.argv.slice(2)
if (argument === '--ask') await askAll()
else if (argument !== undefined) writeTable(path.resolve(argument))
else throw new Error('Name the folder of the CUDA library.')

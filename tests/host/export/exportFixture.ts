/** A checkpoint with a random adapter, neither factor zero, on a small model: what training would leave. */
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import type { RoundedPrecision } from '#shared/precision.ts'
import type { LoraConfig } from '#engine/models/config.ts'
import type { NamedTensor } from '#engine/models/source.ts'
import { saveCheckpoint } from '#host/models/checkpoints.ts'
import { openModelFolder, type ModelFolder } from '#host/models/modelFolder.ts'
import { modelShapes, type ModelShape } from '#host/models/modelShapes.ts'
import { adapterForModel, readAdapter, type Adapter } from '#host/adapters/peft.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import { defaultShardBytes, type ExportOptions, type ExportReport } from '#host/export/exports.ts'
import { exportCheckpoint } from '#host/export/exporting.ts'
import { initialState } from '#rl/training/plan.ts'
import { randomAdapter } from '../../engine/runtime/tinyModel.ts'

export interface ExportFixture {
  readonly model: ModelFolder
  readonly adapter: Adapter
  readonly checkpoint: string
  readonly folder: string
  export(options: Partial<ExportOptions> & Pick<ExportOptions, 'format'>): Promise<ExportReport>
}

export const reference = path.join(import.meta.dirname, '../../fixtures/reference')

export const fixtureLora: LoraConfig = {
  rank: 4,
  alpha: 12,
  rsLora: true,
  targets: ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'up_proj', 'down_proj'],
}

/** One of the tiny shapes with random weights. */
export async function randomFixture(
  folder: string,
  shape: keyof typeof modelShapes,
  options: {
    readonly dtype?: 'F32' | 'BF16'
    readonly overrides?: Partial<ModelShape>
    readonly lora?: LoraConfig
    readonly base?: RoundedPrecision
  } = {},
): Promise<ExportFixture> {
  const { dtype = 'F32', overrides = {}, lora = fixtureLora, base } = options
  const directory = path.join(folder, 'model')
  await writeRandomModel(directory, { ...modelShapes[shape], ...overrides }, 11, dtype)
  const model = openModelFolder(directory)
  const config = { ...lora, targets: lora.targets.filter((name) => model.config.linears.includes(name)) }
  return createFixture(folder, model, {
    config,
    baseModel: 'some/model',
    tensors: randomAdapter(model.config, config),
    ...(base === undefined ? {} : { base }),
  })
}

/** A model and adapter that transformers and peft made. */
export function referenceFixture(folder: string, name: string): Promise<ExportFixture> {
  const model = openModelFolder(path.join(reference, name, 'model'))
  const directory = path.join(reference, name, 'adapter')
  return createFixture(folder, model, adapterForModel(readAdapter(directory), model.config, directory))
}

export async function createFixture(
  folder: string,
  model: ModelFolder,
  adapter: Adapter,
): Promise<ExportFixture> {
  const run = path.join(folder, 'run')
  mkdirSync(run, { recursive: true }) // a run's folder is there before its first checkpoint
  const { directory: checkpoint } = await saveCheckpoint(run, {
    trainer: { ...initialState, step: 7 },
    events: 0,
    reward: null,
    metrics: {},
    lora: adapter.config,
    baseModel: adapter.baseModel,
    actor: adapter.tensors,
    ...(adapter.base === undefined ? {} : { base: adapter.base }),
    reference: null,
    critic: null,
    optimizer: null,
    model: null,
  })
  const usual = { dtype: null, shardBytes: defaultShardBytes, adapterInputs: false }
  const request = {
    checkpoint,
    model: model.directory,
    contextLength: null,
    hubId: null,
    cacheDirectory: path.join(folder, 'cache'),
  }
  return {
    model,
    adapter,
    checkpoint,
    folder,
    export: (options) =>
      exportCheckpoint(
        { ...usual, out: path.join(folder, `out-${options.format}`), ...options, ...request },
        () => undefined,
      ),
  }
}

/** What did not pass, in words. */
export const failures = ({ parity }: ExportReport): string[] =>
  parity
    .filter(({ passed }) => !passed)
    .map(({ sentence, measured, limit }) => `${sentence} ${measured} > ${limit}`)

/** A tensor of an adapter by name. */
export function tensorOf({ tensors }: Adapter, name: string): NamedTensor {
  const found = tensors.find((tensor) => tensor.name === name)
  if (!found) throw new Error(`Expected ${name}.`)
  return found
}

/** A folder of tests/fixtures/reference: a model, an adapter, and what transformers and peft compute with them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { NamedTensor } from '#engine/models/source.ts'
import type { LossCoefficients, TokenSequence } from '#engine/policy.ts'
import { createOrtPolicy, type OrtPolicy, type OrtPolicyOptions } from '#engine/runtime/ortPolicy.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { adapterForModel, readAdapter } from '#host/adapters/peft.ts'
import { openSafetensors, readTensor } from '#host/files/safetensors.ts'
import { asFloat32Source } from '#host/models/weightCache.ts'

interface ReferenceScores {
  readonly adapter: boolean
  readonly temperature: number
  readonly logprobs: readonly (readonly number[])[]
  readonly entropies: readonly (readonly number[])[]
}

interface ReferenceGradients {
  readonly temperature: number
  readonly loss: number
  readonly coefficients: readonly (readonly number[])[]
  readonly entropyCoefficients: readonly (readonly number[])[] | null
  readonly file: string
}

interface ReferenceGreedy {
  readonly adapter: boolean
  readonly prompts: readonly (readonly number[])[]
  readonly ids: readonly (readonly number[])[]
  readonly logprobs: readonly (readonly number[])[]
}

export interface Reference {
  readonly directory: string
  /** The length that the model is to be opened with; null where its frequencies don't depend on it. */
  readonly contextLength: number | null
  readonly sequences: readonly (readonly number[])[]
  readonly scores: readonly ReferenceScores[]
  readonly gradients: readonly ReferenceGradients[]
  readonly greedy: readonly ReferenceGreedy[]
  /** transformers' load-balancing loss of all sequences with the adapter, where the model has experts. */
  readonly balance?: number
}

const root = join(import.meta.dirname, '../../fixtures/reference')

/** Every folder, in alphabetical order. */
export const referenceNames: readonly string[] = readdirSync(root, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .toSorted()

/** The folders that the README's table explains, in alphabetical order. */
export const explainedNames = (): string[] =>
  [...readFileSync(join(root, 'README.md'), 'utf8').matchAll(/^\| ([a-z0-9-]+) \|/gm)]
    .map(([, name]) => name!)
    .filter((name) => name !== 'folder')
    .toSorted()

/** `model_type` of a folder's model. */
export const modelTypeOf = (name: string): string =>
  (JSON.parse(readFileSync(join(root, name, 'model/config.json'), 'utf8')) as { model_type: string })
    .model_type

/** An error names the file that is missing. */
export function readReference(name: string): Reference {
  const directory = join(root, name)
  const files = ['model/config.json', 'adapter/adapter_model.safetensors', 'reference.json']
  for (const file of files) {
    if (!existsSync(join(directory, file)))
      throw new Error(`The reference ${name} lacks ${file}: run make.py beside it.`)
  }
  const reference = JSON.parse(readFileSync(join(directory, 'reference.json'), 'utf8')) as Omit<
    Reference,
    'directory' | 'contextLength'
  > & { readonly contextLength?: number }
  return { ...reference, directory, contextLength: reference.contextLength ?? null }
}

/** The reference's model with its adapter as the actor. */
export async function openReference(
  { directory, contextLength }: Reference,
  cacheDirectory: string,
  overrides: Partial<OrtPolicyOptions> = {},
): Promise<OrtPolicy> {
  const folder = openModelFolder(join(directory, 'model'), contextLength === null ? {} : { contextLength })
  const adapter = adapterForModel(readAdapter(join(directory, 'adapter')), folder.config, directory)
  return createOrtPolicy({
    source: await asFloat32Source(folder, cacheDirectory),
    device: { kind: 'cpu', threads: 1, deviceId: 0 },
    lora: adapter.config,
    loraSeed: 0,
    adapter: adapter.tensors,
    rolloutPrecision: 'f32',
    activations: 'recompute',
    maxRows: 3,
    ...overrides,
  })
}

/** Gradients of a reference's file, by the names that a policy gives its tensors. */
export function readGradients({ directory }: Reference, { file }: ReferenceGradients): NamedTensor[] {
  return [...openSafetensors(join(directory, file)).tensors].map(([name, location]) => ({
    name: name.replace('base_model.model.', '').replace('.weight', ''),
    shape: location.shape,
    data: readTensor(location),
  }))
}

/** Every prediction counts. */
export const wholeSequence = (ids: readonly number[]): TokenSequence => ({
  ids: Int32Array.from(ids),
  actionMask: new Uint8Array(ids.length - 1).fill(1),
})

export const coefficientsOf = ({
  coefficients,
  entropyCoefficients,
}: ReferenceGradients): LossCoefficients[] =>
  coefficients.map((row, index) => ({
    logprobs: Float64Array.from(row),
    entropies: entropyCoefficients && Float64Array.from(entropyCoefficients[index]!),
    values: null,
  }))

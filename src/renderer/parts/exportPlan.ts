/** Name and destination of an export. */
import type { Answer } from '#renderer/client/api.tsx'
import { slugOf } from '#shared/plural.ts'
import { formatBytes } from '#renderer/client/format.ts'

export type ExportOffer = Answer<'checkpoints.formats'>[number]
export type ExportFormat = ExportOffer['format']

export const formatWords: Readonly<Record<ExportFormat, { readonly title: string; readonly use: string }>> = {
  peft: {
    title: 'Adapter (PEFT)',
    use: 'Small. Loads on top of the base model in transformers, vLLM and other programs that read PEFT.',
  },
  merged: { title: 'Merged model', use: 'A model folder with the adapter merged into the weights.' },
  gguf: {
    title: 'GGUF adapter',
    use: 'The adapter as one file for llama.cpp and programs built on it; needs the base model.',
  },
  'gguf-model': {
    title: 'GGUF model',
    use: 'The whole model as one file for llama.cpp, Ollama and LM Studio, with a Modelfile.',
  },
  onnx: { title: 'ONNX', use: 'A graph with its weights for ONNX Runtime in other programs.' },
}

/** Number format; `usual`: the base's own in a merged model, f16 in a GGUF model, f32 elsewhere. */
export type ExportNumbers = 'usual' | NonNullable<ExportOffer['sizes'][number]['dtype']>

export interface ExportChoice {
  readonly dtype: ExportNumbers
  readonly adapterInputs: boolean
}

export const defaultChoice: ExportChoice = { dtype: 'usual', adapterInputs: false }

interface NumbersOffer {
  readonly value: ExportNumbers
  readonly label: string
}

const numberOffers: Readonly<Partial<Record<ExportFormat, readonly NumbersOffer[]>>> = {
  merged: [
    { value: 'usual', label: 'As in the base' },
    { value: 'f32', label: 'f32' },
  ],
  gguf: [
    { value: 'usual', label: 'f32' },
    { value: 'f16', label: 'f16, half the size, rounded' },
    { value: 'bf16', label: 'bf16, half the size, rounded more' },
  ],
  'gguf-model': [
    { value: 'usual', label: 'F16' },
    { value: 'q8_0', label: 'Q8_0, nearly the same answers' },
    { value: 'q4_k_m', label: 'Q4_K_M, smallest, rounded most' },
  ],
}

/** Returns the number formats of an export format; empty if there is no choice. */
export const dtypesOf = (format: ExportFormat): readonly NumbersOffer[] => numberOffers[format] ?? []

/** Offers with their sizes; a merged model of which only one size is known has the numbers f32, as its base is a GGUF file. */
export function sizedDtypes({ format, sizes }: ExportOffer): readonly NumbersOffer[] {
  const [only] = sizes
  if (format === 'merged' && only !== undefined && sizes.length === 1)
    return [{ value: 'usual', label: `f32 · ${formatBytes(only.bytes)}` }]
  return dtypesOf(format).map((offer) => {
    const dtype = offer.value === 'usual' ? null : offer.value
    const size = sizes.find((each) => each.dtype === dtype)
    return size === undefined ? offer : { ...offer, label: `${offer.label} · ${formatBytes(size.bytes)}` }
  })
}

/** Returns the request to the host, limited to options of the format. */
export function choiceFor(format: ExportFormat, { dtype, adapterInputs }: ExportChoice) {
  const isOffered = dtypesOf(format).some((offer) => offer.value === dtype)
  return {
    format,
    dtype: dtype === 'usual' || !isOffered ? null : dtype,
    adapterInputs: adapterInputs && format === 'onnx',
  }
}

/**
 * Names a folder: `arith-grpo-1` at step 30 → `arith-grpo-1-step-30-peft`; characters other than letters and digits
 * become dashes.
 */
export function folderName({
  run,
  step,
  format,
}: {
  run: string
  /** Null if the name contains it. */
  step: number | null
  format: ExportFormat
}): string {
  const slug = slugOf(run)
  return `${slug === '' ? 'run' : slug}${step === null ? '' : `-step-${String(step)}`}-${format}`
}

/** Returns the name, with -2, -3 … if it is taken. */
export function freeName(name: string, taken: readonly string[]): string {
  if (!taken.includes(name)) return name
  let number = 2
  while (taken.includes(`${name}-${String(number)}`)) number += 1
  return `${name}-${String(number)}`
}

export const placeIn = (folder: string, file: string): string =>
  file.startsWith(folder) ? file.slice(folder.length).replace(/^[\\/]+/, '') : file

/** Joins with the separator that the folder itself uses. */
export function joinPath(folder: string, ...names: readonly string[]): string {
  const separator = folder.includes('\\') && !folder.includes('/') ? '\\' : '/'
  return [folder.replace(/[\\/]+$/, ''), ...names].join(separator)
}

/** Returns a valid model name for that of a folder. */
export const importName = (folder: string): string =>
  folder
    .replaceAll(/[^\w.-]+/g, '-')
    .replace(/^[^\w]+/, '')
    .slice(0, 100)

export const isImportName = (name: string): boolean => /^\w[\w.-]{0,99}$/.test(name)

/** What an export will be called and where it goes. */
import type { Answer } from '#renderer/hooks/api.tsx'

export type ExportFormat = Answer<'checkpoints.formats'>[number]['format']

export const formatWords: Readonly<Record<ExportFormat, { readonly title: string; readonly use: string }>> = {
  peft: {
    title: 'Adapter (PEFT)',
    use: 'Small. Loads beside the base model in transformers, vLLM, and whatever else reads PEFT.',
  },
  merged: { title: 'Merged model', use: 'A model folder of its own with the adapter worked in.' },
  gguf: { title: 'GGUF', use: 'One file for llama.cpp and what is built on it.' },
  onnx: { title: 'ONNX', use: 'A graph for ONNX Runtime in other programs.' },
}

/** `arith-grpo-1` at step 30 → `arith-grpo-1-step-30-peft`; other signs than letters and digits become dashes. */
export function folderName({
  run,
  step,
  format,
}: {
  run: string
  step: number
  format: ExportFormat
}): string {
  const slug = run
    .normalize('NFKD')
    .replaceAll(/[^\w.-]+/g, '-')
    .replaceAll(/^[-.]+|[-.]+$/g, '')
  return `${slug === '' ? 'run' : slug}-step-${String(step)}-${format}`
}

/** The name, or with -2, -3 … where it is taken. */
export function freeName(name: string, taken: readonly string[]): string {
  if (!taken.includes(name)) return name
  let number = 2
  while (taken.includes(`${name}-${String(number)}`)) number += 1
  return `${name}-${String(number)}`
}

/** A file's place in the folder that was written. */
export const placeIn = (folder: string, file: string): string =>
  file.startsWith(folder) ? file.slice(folder.length).replace(/^[\\/]+/, '') : file

/** With the separator that the folder itself uses. */
export function joinPath(folder: string, ...names: readonly string[]): string {
  const separator = folder.includes('\\') && !folder.includes('/') ? '\\' : '/'
  return [folder.replace(/[\\/]+$/, ''), ...names].join(separator)
}

/** A name that the list of models takes, from that of a folder. */
export const importName = (folder: string): string =>
  folder
    .replaceAll(/[^\w.-]+/g, '-')
    .replace(/^[^\w]+/, '')
    .slice(0, 100)

export const isImportName = (name: string): boolean => /^\w[\w.-]{0,99}$/.test(name)

/** The files of a base model on disk: every tensor, used by Turnwise or not, and the accompanying files. */
import { closeSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs'
import path from 'node:path'
import { invalidModel } from '#shared/errors.ts'
import type { TensorLocation } from '#engine/models/source.ts'
import { writeFileAtomic } from '#host/files/atomic.ts'
import { readError } from '#host/files/fileErrors.ts'
import { ggufFileOf, ggufTexts } from '#host/gguf/ggufModel.ts'
import type { ModelFolder } from '#host/models/modelFolder.ts'
import { copyIfThere } from '#host/models/modelLibrary.ts'
import { additionalTemplateFiles, requireOwnText } from '#host/models/tokenizerFolder.ts'
import {
  maxHeaderLength,
  parseSafetensorsHeader,
  SafetensorsFormatError,
} from '#host/files/safetensorsHeader.ts'

/** A tensor of any type that the format has. */
export interface RawTensor {
  readonly name: string
  readonly dtype: string
  readonly shape: readonly number[]
  readonly file: string
  /** Bytes from the start of the file. */
  readonly offset: number
  readonly byteLength: number
}

/** Place of a tensor's bytes. */
export const placeOf = ({ file, offset }: Pick<TensorLocation, 'file' | 'offset'>): string =>
  `${file}:${offset}`

/**
 * Yields every tensor of a model's weight files, once each, in their order; of a GGUF model those that it is computed
 * with. Errors: AppError 'file/unreadable', 'model/invalid'.
 */
export function rawTensors({ directory, weightFiles, tensors }: ModelFolder): RawTensor[] {
  if (ggufFileOf(directory) !== null) return [...tensors].map(([name, location]) => ({ name, ...location }))
  const used = new Set([...tensors.values()].map(placeOf))
  const found = new Map<string, RawTensor>()
  for (const tensor of weightFiles.flatMap(tensorsOf)) {
    // Takes, of two tensors with one name, the one that the model is computed with.
    if (!found.has(tensor.name) || used.has(placeOf(tensor))) found.set(tensor.name, tensor)
  }
  return [...found.values()]
}

function tensorsOf(file: string): RawTensor[] {
  try {
    const handle = openSync(file, 'r')
    try {
      const size = fstatSync(handle).size
      const length = Number(readBytes(handle, 8, 0).readBigUInt64LE(0))
      if (length > Math.min(maxHeaderLength, size - 8))
        throw new SafetensorsFormatError('its header ends early')
      const dataStart = 8 + length
      const { entries } = parseSafetensorsHeader(readBytes(handle, length, 8), size - dataStart)
      return entries.map(({ begin, end, ...entry }) => ({
        ...entry,
        file,
        offset: dataStart + begin,
        byteLength: end - begin,
      }))
    } finally {
      closeSync(handle)
    }
  } catch (error) {
    if (!(error instanceof SafetensorsFormatError)) throw readError(file, error)
    throw invalidModel(`${file} is not a valid safetensors file: ${error.message}.`)
  }
}

function readBytes(handle: number, length: number, position: number): Buffer {
  const bytes = Buffer.alloc(length)
  if (readSync(handle, bytes, 0, length, position) !== length) {
    throw new SafetensorsFormatError('it was truncated while being read')
  }
  return bytes
}

/** Names of the files that belong to a model beside its weights. */
const companions =
  /^((config|generation_config|tokenizer|tokenizer_config|special_tokens_map|added_tokens|vocab|chat_template)\.json|tokenizer\.model|merges\.txt|vocab\.txt|chat_template\.jinja)$/

/** Licences go where the weights go. */
const licences = /^(LICENSE|LICENCE|NOTICE|USE_POLICY)(\.(md|txt))?$/

/** Names what an export takes from the folder of a model beside its weights. */
const textsOf = (directory: string): string[] => [
  ...readdirSync(directory).filter((name) => companions.test(name) || licences.test(name)),
  ...additionalTemplateFiles(directory),
]

/** Refuses files of a model that would be exported but are links to elsewhere. Errors: AppError 'file/unreadable'. */
export function requireOwnTexts(directory: string): void {
  if (ggufFileOf(directory) !== null) return
  for (const name of textsOf(directory)) requireOwnText(path.join(directory, name), directory)
}

/** Copies the texts of a model's licence, if it has any. Errors: AppError 'file/unreadable', 'file/unwritable'. */
export async function copyLicences(directory: string, folder: string): Promise<void> {
  if (ggufFileOf(directory) !== null) return
  for (const name of readdirSync(directory).filter((each) => licences.test(each)))
    await copyIfThere(name, directory, folder)
}

/**
 * Copies configs, tokenizer and templates, byte by byte, or writes those that a GGUF file replaces; returns their
 * names. Errors: AppError 'file/unreadable', 'file/unwritable'.
 */
export async function copyCompanions(directory: string, folder: string): Promise<readonly string[]> {
  const gguf = ggufFileOf(directory)
  if (gguf !== null) {
    const texts = ggufTexts(gguf)
    for (const [name, text] of texts) writeFileAtomic(path.join(folder, name), text)
    return [...texts.keys()]
  }
  const names = textsOf(directory)
  for (const name of names) await copyIfThere(name, directory, folder)
  return names
}

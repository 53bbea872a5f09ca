/** The licence of a model, as its card or its GGUF file names it. */
import { closeSync, existsSync, openSync, readSync } from 'node:fs'
import path from 'node:path'
import { ggufFileOf } from '#host/gguf/ggufModel.ts'
import { openGguf } from '#host/gguf/ggufReader.ts'

/** `apache-2.0`; null where nothing is stated. */
export function licenseOf(directory: string): string | null {
  const gguf = ggufFileOf(directory)
  if (gguf === null) return licenseInCard(path.join(directory, 'README.md'))
  const stated = openGguf(gguf, 'model/invalid').metadata.get('general.license')
  return stated?.type === 'string' && stated.value !== '' ? stated.value : null
}

/** From the first lines of a model card. */
function licenseInCard(file: string): string | null {
  if (!existsSync(file)) return null
  const handle = openSync(file, 'r')
  try {
    const bytes = Buffer.alloc(4096)
    const text = bytes.toString('utf8', 0, readSync(handle, bytes))
    return /^---\n(?:.*\n)*?license: *['"]?([^'"\n]+)['"]?\n(?:.*\n)*?---/.exec(text)?.[1]?.trim() ?? null
  } finally {
    closeSync(handle)
  }
}

/** Reads single values as Python programs do. */
import { parseAllDocuments } from 'yaml'

/** A value of a command, as Hydra reads it. */
export function scalar(written: string): unknown {
  const bare = /^(['"])(.*)\1$/s.exec(written)?.[2] ?? written
  const [document] = parseAllDocuments(bare, { version: '1.2', schema: 'core' })
  if (document === undefined || !('contents' in document) || document.errors.length > 0) return bare
  return pythonNumber(document.toJS({ maxAliasCount: 0 }))
}

/** Reads a flag as transformers and pydantic do: `no`, `f` and 0 are false. Other values stay what they are. */
export function pythonFlag(value: unknown): unknown {
  const word = typeof value === 'string' || typeof value === 'number' ? String(value) : ''
  if (/^(?:yes|true|on|t|y|1)$/i.test(word)) return true
  return /^(?:no|false|off|f|n|0)$/i.test(word) ? false : value
}

/** 1e-6 and 1_000 are texts to some readers of YAML and numbers to Python. */
export function pythonNumber(value: unknown): unknown {
  if (typeof value !== 'string') return value
  if (/^(None|null|~)$/.test(value)) return null
  if (/^(True|False)$/.test(value)) return value === 'True'
  const isNumber = /^[+-]?(\d[\d_]*\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(value)
  return isNumber ? Number(value.replaceAll('_', '')) : value
}

/**
 * Reads YAML that comes from elsewhere. A few aliases are ordinary; a document that unfolds into millions of values, is nested
 * without end or holds itself is refused.
 */
import { parseAllDocuments, type DocumentOptions, type ParseOptions, type SchemaOptions } from 'yaml'

export interface YamlOptions extends ParseOptions, DocumentOptions, SchemaOptions {
  /** Most repetitions of what an anchor names. */
  readonly maxAliasCount: number
}

/** Reason why a text cannot be read, to follow a colon in a sentence. */
export class YamlFault extends Error {}

/** The only document of a text. Errors: YamlFault. */
export function parseYaml(text: string, { maxAliasCount, ...options }: YamlOptions): unknown {
  const value = orFault(() => {
    const documents = parseAllDocuments(text, options)
    const [document, second] = Array.isArray(documents) ? documents : []
    const [problem] = document?.errors ?? []
    if (problem !== undefined) throw faultOf(problem)
    if (document === undefined) throw new YamlFault('it is empty')
    if (second !== undefined) throw new YamlFault('it contains more than one document')
    return document.toJS({ maxAliasCount }) as unknown
  })
  if (orFault(() => holdsItself(value, new Set(), new Set())))
    throw new YamlFault('an alias stands inside what it names, so the value would have no end')
  return value
}

function orFault<Result>(read: () => Result): Result {
  try {
    return read()
  } catch (error) {
    throw error instanceof YamlFault ? error : faultOf(error)
  }
}

function faultOf(error: unknown): YamlFault {
  const [problem = ''] = (error instanceof Error ? error.message : String(error)).split('\n')
  // The parser lists the end of the stack among the mistakes of the document.
  const isDeep = problem.startsWith('Maximum call stack size exceeded')
  return new YamlFault(isDeep ? 'it is nested too deeply' : problem.replace(/:$/, ''))
}

/**
 * Returns true if a value contains itself. `around`: the values it is in; `ended`: values already found to be finite.
 */
function holdsItself(value: unknown, around: Set<unknown>, ended: Set<unknown>): boolean {
  if (typeof value !== 'object' || value === null || ended.has(value)) return false
  if (around.has(value)) return true
  around.add(value)
  const isEndless = Object.values(value).some((inner) => holdsItself(inner, around, ended))
  around.delete(value)
  ended.add(value)
  return isEndless
}

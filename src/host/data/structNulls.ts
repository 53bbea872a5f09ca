/** Nulls that Arrow puts into structs, whose fields are those of all rows together. */
import { isJsonObject } from '#host/files/strictJson.ts'

/** Hold what a tool is called with, or what it may be called with: a null there says that the row has no such field. */
const ofTools: readonly string[] = ['arguments', 'parameters', 'input_schema']

/** The value without the nulls in arguments and parameters of tools; `onDrop` is told where there are some. */
export function withoutStructNulls(value: unknown, onDrop: () => void, isInTool = false): unknown {
  if (Array.isArray(value)) return value.map((inner: unknown) => withoutStructNulls(inner, onDrop, isInTool))
  if (!isJsonObject(value)) return value
  const kept = Object.entries(value).filter(([, inner]) => !isInTool || inner !== null)
  if (kept.length < Object.keys(value).length) onDrop()
  return Object.fromEntries(
    kept.map(([name, inner]) => [
      name,
      withoutStructNulls(inner, onDrop, isInTool || ofTools.includes(name)),
    ]),
  )
}

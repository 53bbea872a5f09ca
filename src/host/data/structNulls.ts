/** Nulls that Arrow puts into structs, whose fields are those of all rows together. */
import { isJsonObject } from '#host/files/strictJson.ts'

/** Fields that hold the arguments of a tool or their schema: a null inside means that the row has no such field. */
const ofTools: readonly string[] = ['arguments', 'parameters', 'input_schema']

/** Removes nulls from the arguments and parameters of tools; calls `onDrop` for each object that had some. */
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

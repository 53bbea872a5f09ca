/** One JSON text to one row, by the runtime's own parser: it is ten times as fast as a strict one. */
import { isJsonObject, JsonSyntaxError, parseStrictJson } from '#host/files/strictJson.ts'
import type { ReadItem } from './dataFile.ts'

const maxDepth = 64

interface Place {
  readonly number: number
  readonly line: number | null
}

/** A row, or the problem it has. Of a key that appears twice the last value counts. */
export function parseRow(text: string, { number, line }: Place): ReadItem {
  let row: unknown
  try {
    row = JSON.parse(text)
  } catch {
    return { number, line, sentence: `it is not valid JSON: ${reasonOf(text)}` }
  }
  if (!isJsonObject(row)) return { number, line, sentence: 'it is not a JSON object' }
  if (isDeeperThan(row, maxDepth)) {
    return { number, line, sentence: `it is nested deeper than ${maxDepth} levels` }
  }
  return { number, line, row }
}

/** The strict parser has words for what is wrong; its own demands beyond JSON are not asked here. */
function reasonOf(text: string): string {
  if (/(?<![\w"])(?:NaN|-?Infinity)(?![\w"])/.test(text)) return 'NaN and Infinity are no JSON numbers'
  try {
    parseStrictJson(Buffer.from(text, 'utf8'))
  } catch (error) {
    if (error instanceof JsonSyntaxError) return error.message
    throw error
  }
  return 'it cannot be read'
}

function isDeeperThan(value: object, levels: number): boolean {
  if (levels === 0) return true
  for (const inner of Object.values(value) as unknown[]) {
    if (typeof inner === 'object' && inner !== null && isDeeperThan(inner, levels - 1)) return true
  }
  return false
}

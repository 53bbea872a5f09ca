// Is the completion JSON with the expected keys and types? Partial credit:
// 0.2 for valid JSON, 0.2 for an object, the rest by keys of the right type.
export const settings = { keys: 'name: string, age: number, tags: array' }

const typeOf = (value: unknown) => (Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value)

// A code fence around the JSON is allowed, other text is not.
const bare = (text: string) => /^\s*```(?:json)?\n(.*)\n```\s*$/s.exec(text)?.[1] ?? text

export default function validJson({ completion, settings, log }) {
  let value: unknown
  try {
    value = JSON.parse(bare(completion))
  } catch (error) {
    log.column('problem', String(error))
    return 0
  }
  if (typeOf(value) !== 'object') return 0.2
  const wanted = settings.keys.split(',').map((entry: string) => entry.split(':').map((part) => part.trim()))
  const wrong = wanted.filter(([key, type]) => typeOf(value[key]) !== type)
  log.column('problem', wrong.length === 0 ? null : `missing or of another type: ${wrong.map(([key]) => key).join(', ')}`)
  return 0.4 + 0.6 * (1 - wrong.length / wanted.length)
}

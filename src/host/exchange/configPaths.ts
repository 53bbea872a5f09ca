/** Settings by dotted name, such as optimization.learningRate. */

/** undefined where there is none. */
export function atPath(config: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((value, name) => {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    return (value as Record<string, unknown>)[name]
  }, config)
}

/** A copy with one setting changed. Names are those of the table, never of a file. */
export function withPath(
  config: Readonly<Record<string, unknown>>,
  path: string,
  value: unknown,
): Record<string, unknown> {
  const [first = '', ...rest] = path.split('.')
  if (rest.length === 0) return { ...config, [first]: value }
  const inner = config[first]
  const section = typeof inner === 'object' && inner !== null ? (inner as Record<string, unknown>) : {}
  return { ...config, [first]: withPath(section, rest.join('.'), value) }
}

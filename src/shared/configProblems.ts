/** What is wrong with a run config, in sentences. */
import type { z } from 'zod'

type Issue = z.core.$ZodIssue

/** One sentence per problem, naming the key, what it must be and what it was. */
export function describeIssue(issue: Issue): string[] {
  const place = issue.path.length === 0 ? 'the file' : pathText(issue.path)
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => `${pathText([...issue.path, key])}: unknown key.`)
  if (issue.code === 'invalid_union') return describeUnion(issue, place)
  const got = issue.input === undefined ? 'it is missing' : `got ${shown(issue.input)}`
  return [`${place}: expected ${expectation(issue)}, ${got}.`]
}

/** The alternative that came nearest, else one sentence for all. */
function describeUnion(issue: Extract<Issue, { code: 'invalid_union' }>, place: string): string[] {
  const inner = issue.errors
    .map((alternative) => alternative.filter(({ path: at }) => at.length > 0))
    .find((alternative) => alternative.length > 0)
  const first = inner?.[0]
  if (!first) return [`${place}: none of the allowed forms fits ${shown(issue.input)}.`]
  return describeIssue({ ...first, path: [...issue.path, ...first.path] })
}

const pathText = (parts: readonly PropertyKey[]): string =>
  parts.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`
    return text === '' ? String(part) : `${text}.${String(part)}`
  }, '')

const articles: Readonly<Record<string, string>> = {
  int: 'a whole number',
  number: 'a number',
  string: 'text',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
  record: 'an object',
}

function expectation(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return articles[issue.expected] ?? issue.expected
    case 'invalid_value':
      return `one of ${issue.values.map((value) => JSON.stringify(value)).join(', ')}`
    case 'too_small':
      return bound(issue.origin, issue.inclusive === false ? 'more than' : 'at least', issue.minimum)
    case 'too_big':
      return bound(issue.origin, issue.inclusive === false ? 'less than' : 'at most', issue.maximum)
    default:
      return issue.message
  }
}

function bound(origin: string, relation: string, limit: number | bigint): string {
  if (origin === 'array') return `${relation} ${limit} entries`
  return origin === 'string' ? 'text that is not empty' : `${relation} ${limit}`
}

function shown(input: unknown): string {
  if (typeof input === 'number' && !Number.isFinite(input)) return 'a number beyond all that can be held'
  const text = JSON.stringify(input)
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

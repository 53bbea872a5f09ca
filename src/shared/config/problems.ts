/** Problems of a run config, from violations of its schema. */
import type { z } from 'zod'
import { ConfigError, type Problem, type ProblemCode } from '../errors.ts'

type Issue = z.core.$ZodIssue

/** Converts schema issues below `prefix`, which is empty for a whole config. */
export const schemaProblems = (issues: readonly Issue[], prefix = ''): Problem[] =>
  issues.flatMap((issue) => problemsOf(issue, prefix))

function problemsOf(issue: Issue, prefix: string): Problem[] {
  const at = pathText(issue.path, prefix)
  const subject = subjectOf(at)
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => problem(pathText([...issue.path, key], prefix), 'unknown', 'unknown key.'))
  if (issue.code === 'invalid_union') return unionProblems(issue, at, prefix)
  if (issue.input === undefined)
    return [problem(at, 'missing', `${subject}expected ${expectation(issue)}, but it is missing.`)]
  return [problem(at, codeOf(issue), `${subject}expected ${expectation(issue)}, got ${shown(issue.input)}.`)]
}

const subjectOf = (at: string): string => (at === '' ? 'the file: ' : '')

/** Reports the alternative that came nearest, else one sentence for all. */
function unionProblems(
  issue: Extract<Issue, { code: 'invalid_union' }>,
  at: string,
  prefix: string,
): Problem[] {
  const isNear = ({ path, code }: Issue) => path.length > 0 || code === 'custom'
  const first = issue.errors.map((alternative) => alternative.find(isNear)).find((near) => near !== undefined)
  if (first) return problemsOf({ ...first, path: [...issue.path, ...first.path] }, prefix)
  if (issue.input === undefined) return [problem(at, 'missing', 'it is missing.')]
  return [problem(at, 'form', `${subjectOf(at)}expected ${formsOf(issue)}, got ${shown(issue.input)}.`)]
}

/** Names every form; objects by their keys, where their schema says them. */
function formsOf({ errors, message }: Extract<Issue, { code: 'invalid_union' }>): string {
  if (message !== 'Invalid input') return message
  const forms = errors.flatMap(([first]) => (first === undefined ? [] : [expectation(first)]))
  return [...new Set(forms)].join(' or ')
}

/** Assigns problems in an entry of `stages` to that stage. */
function problem(path: string, code: ProblemCode, message: string): Problem {
  const [, stage, rest] = /^stages\[(\d+)\]\.(.+)$/.exec(path) ?? []
  return stage === undefined || rest === undefined
    ? { path, code, message, stage: null }
    : { path: rest, code, message, stage: Number(stage) }
}

const pathText = (parts: readonly PropertyKey[], prefix: string): string =>
  parts.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`
    return text === '' ? String(part) : `${text}.${String(part)}`
  }, prefix)

function codeOf({ code }: Issue): ProblemCode {
  if (code === 'invalid_type') return 'type'
  if (code === 'invalid_value') return 'choice'
  return code === 'too_small' || code === 'too_big' ? 'range' : 'form'
}

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
  if (typeof input === 'number' && !Number.isFinite(input)) return 'a number too large to be represented'
  const text = JSON.stringify(input)
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

export const conflict = (path: string, message: string): Problem => ({
  path,
  code: 'conflict',
  message,
  stage: null,
})

/** Problem of a setting that can be trained with. */
export const unwise = (path: string, message: string): Problem => ({
  path,
  code: 'unwise',
  message,
  stage: null,
})

/** Errors: ConfigError, if there is a problem. */
export function refuse(problems: readonly Problem[], stage: number | null = null): void {
  if (problems.length > 0)
    throw new ConfigError(stage === null ? problems : problems.map((each) => ({ ...each, stage })))
}

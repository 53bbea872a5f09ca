/**
 * Tokenizer files contain programs: regular expressions and chains of text rewrites. JavaScript cannot stop a running
 * regular expression, so patterns that could run forever are refused beforehand.
 */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Published files stay below a dozen steps; the limits leave room and bound time and size. */
const limits = { depth: 24, nodes: 4096, patternLength: 20_000, growth: 4096, templateItems: 64 }

const stages = ['normalizer', 'pre_tokenizer', 'post_processor', 'decoder'] as const

/** Returns the reason why the pipeline of a tokenizer.json must not be run, as half a sentence; null when it may. */
export function pipelineFault(json: Readonly<Record<string, unknown>>): string | null {
  for (const stage of stages) {
    const survey = surveyStage(json[stage])
    if (typeof survey === 'string') return `its ${stage} ${survey}`
    if (survey.growth > limits.growth) return `its ${stage} could expand a text ${survey.growth} times`
  }
  return null
}

interface Survey {
  /** Factor by which the text can grow, all rewrites together. */
  growth: number
}

/** Visits every object below `root` once, breadth first; returns the total or what is wrong. */
function surveyStage(root: unknown): Survey | string {
  const survey: Survey = { growth: 1 }
  const seen = new Set<unknown>()
  let level: unknown[] = [root]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > limits.depth || seen.size > limits.nodes) return 'is nested too deep or too large'
    const next: unknown[] = []
    for (const node of level) {
      if (typeof node !== 'object' || node === null || seen.has(node)) continue
      seen.add(node)
      const fault = surveyNode(node, survey)
      if (fault !== null) return fault
      for (const child of Object.values(node)) next.push(child)
    }
    level = next
  }
  return survey
}

function surveyNode(node: object, survey: Survey): string | null {
  if (Array.isArray(node))
    return node.length > limits.templateItems && node.some(isRecord) ? 'has too many steps' : null
  if (!isRecord(node)) return null
  const regex = node['Regex']
  if (typeof regex === 'string' && !isHarmlessPattern(regex)) {
    return 'has a pattern that can take forever on some texts'
  }
  survey.growth *= growthOf(node)
  return stepFault(node)
}

function stepFault({ type, pattern, length }: Readonly<Record<string, unknown>>): string | null {
  if ((type === 'Split' || type === 'Replace') && !isPattern(pattern)) return 'has a step without a pattern'
  return type === 'FixedLength' && !(Number(length) >= 1) ? 'has a step without a length' : null
}

const isPattern = (pattern: unknown): boolean =>
  isRecord(pattern) && (typeof pattern['String'] === 'string' || typeof pattern['Regex'] === 'string')

const isHarmlessPattern = (source: string): boolean =>
  source.length <= limits.patternLength && hasBoundedBacktracking(source)

/** The longest that one character can become in this step. */
function growthOf(step: Readonly<Record<string, unknown>>): number {
  switch (step['type']) {
    case 'ByteLevel':
      return 2
    case 'Replace':
      return growthOfReplace(step)
    case 'Prepend':
    case 'Metaspace': {
      const added = step['prepend'] ?? step['replacement']
      return typeof added === 'string' ? Math.max(1, added.length) : 1
    }
    case 'TemplateProcessing':
      return Math.max(1, textPlaces(step['single']))
    default:
      return 1
  }
}

function growthOfReplace({ content, pattern }: Readonly<Record<string, unknown>>): number {
  const from = isRecord(pattern) && typeof pattern['String'] === 'string' ? pattern['String'].length : 1
  return typeof content === 'string' ? Math.max(1, Math.ceil(content.length / Math.max(1, from))) : 1
}

/** Counts how often a template of special tokens repeats the text. */
const textPlaces = (single: unknown): number =>
  Array.isArray(single) ? single.filter((piece) => isRecord(piece) && 'Sequence' in piece).length : 0

/*
 * Whether a backtracking matcher can need more than polynomial time for a pattern. That takes a repeated group whose
 * content can match one text in several ways, as in (a+)+ or (a|aa)*. The check is stricter than need be: a repeated
 * group may hold neither alternatives nor repetitions, except an optional character before another one, as in (\r?\n)+.
 *
 * A high power of the text's length is no better: a pattern may repeat one atom without end twice in a row, as published
 * ones do, but not three times, as in a*a*a*b. Different atoms that match the same characters are not found out (that
 * would take knowing every class); where a pattern comes from elsewhere, it runs in a process that can be ended.
 */

/** Content of a group (or the whole pattern), as far as the verdict needs it. */
interface Group {
  isAmbiguous: boolean
  /** An optional character that waits for a different one to follow. */
  pendingOptional: string | null
}

const newGroup = (): Group => ({ isAmbiguous: false, pendingOptional: null })

/** False also for a pattern whose groups or classes do not close; the matcher would refuse it too. */
export function hasBoundedBacktracking(pattern: string): boolean {
  if (hasLongRow(pattern)) return false
  const open: Group[] = [newGroup()]
  let at = 0
  while (at < pattern.length) {
    const next = readPart(pattern, at, open)
    if (next === null) return false
    at = next
  }
  return open.length === 1
}

/** Repetitions beyond this number count as unlimited. */
const manyTimes = 32
const maxRow = 2

/**
 * Returns true if one atom is repeated without end more than twice, with nothing that must match between. Brackets are
 * looked through.
 */
function hasLongRow(pattern: string): boolean {
  const rows = new Map<string, number>()
  let at = 0
  while (at < pattern.length) {
    const bracket = bracketAt(pattern, at)
    const end = bracket === '' ? atomEnd(pattern, at) : at + bracket.length
    if (end === null) return false
    // A bar begins another alternative.
    if (bracket === '|') rows.clear()
    const quantifier = readQuantifier(pattern, end)
    if (bracket === '' && isRowTooLong(rows, pattern.slice(at, end), quantifier)) return true
    at = bracket === '' || bracket === ')' ? quantifier.end : end
  }
  return false
}

const bracketAt = (pattern: string, at: number): string =>
  /^(?:\((?:\?(?:[:=!>]|<(?:[=!]|\w+>)|[a-z-]*[:)]))?|[)|])/.exec(pattern.slice(at, at + 40))?.[0] ?? ''

function isRowTooLong(rows: Map<string, number>, atom: string, { least, most }: Quantifier): boolean {
  const row = rows.get(atom) ?? 0
  if (least > 0) rows.clear()
  const length = row + (most > manyTimes ? 1 : 0)
  rows.set(atom, length)
  return length > maxRow
}

/** Reads a bracket, a bar or an atom; answers where it ends, or null when the verdict is already bad. */
function readPart(pattern: string, at: number, open: Group[]): number | null {
  const group = open.at(-1)
  if (group === undefined) return null
  switch (pattern[at]) {
    case '(':
      return openGroup(pattern, at, open)
    case ')':
      return closeGroup(pattern, at + 1, open)
    case '|':
      group.isAmbiguous = true
      return at + 1
    default:
      return readAtom(pattern, at, group)
  }
}

function openGroup(pattern: string, at: number, open: Group[]): number {
  const group = open.at(-1)
  if (group !== undefined) settleOptional(group, null)
  const head = /^\(\?(?:[:=!>]|<[=!]|[a-z-]*[:)])/.exec(pattern.slice(at, at + 12))?.[0] ?? '('
  // (?i) only switches a flag; every other head begins a group.
  if (!head.endsWith(')')) open.push(newGroup())
  return at + head.length
}

/** Ends the innermost group and reads its quantifier; null when that quantifier repeats an ambiguous content. */
function closeGroup(pattern: string, after: number, open: Group[]): number | null {
  const group = open.pop()
  const parent = open.at(-1)
  if (group === undefined || parent === undefined) return null
  settleOptional(group, null)
  const quantifier = readQuantifier(pattern, after)
  if (quantifier.most > 1 && group.isAmbiguous) return null
  parent.isAmbiguous ||= group.isAmbiguous || quantifier.least !== quantifier.most
  return quantifier.end
}

/** Reads one atom with its quantifier; null when a character class has no end. */
function readAtom(pattern: string, at: number, group: Group): number | null {
  const end = atomEnd(pattern, at)
  if (end === null) return null
  const atom = pattern.slice(at, end)
  settleOptional(group, atom)
  const quantifier = readQuantifier(pattern, end)
  if (quantifier.least === 0 && quantifier.most === 1) group.pendingOptional = atom
  else group.isAmbiguous ||= quantifier.least !== quantifier.most
  return quantifier.end
}

/** An optional character is harmless when a different plain character must follow it. */
function settleOptional(group: Group, next: string | null): void {
  const { pendingOptional } = group
  if (pendingOptional === null) return
  const isPlain = (atom: string) => /^(?:\\[rnt]|[^\\[.^$])$/u.test(atom)
  const isSettled = next !== null && isPlain(pendingOptional) && isPlain(next) && next !== pendingOptional
  group.isAmbiguous ||= !isSettled
  group.pendingOptional = null
}

/** End of the character, escape (\p{…}, \uXXXX) or character class (which may nest) at `at`. */
function atomEnd(pattern: string, at: number): number | null {
  const escape = /^\\(?:[pPxuo]\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[^])/u.exec(
    pattern.slice(at, at + 64),
  )
  if (escape !== null) return at + escape[0].length
  if (pattern[at] !== '[') return at + 1
  let depth = 0
  for (let index = at; index < pattern.length; index++) {
    if (pattern[index] === '\\') index++
    else if (pattern[index] === '[') depth++
    else if (pattern[index] === ']' && --depth === 0) return index + 1
  }
  return null
}

interface Quantifier {
  readonly least: number
  readonly most: number
  readonly end: number
}

/** Reads the quantifier at `at` with its lazy or possessive mark; {1, 1} where there is none. */
function readQuantifier(pattern: string, at: number): Quantifier {
  const found = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})[?+]?/.exec(pattern.slice(at, at + 32))
  if (found === null) return { least: 1, most: 1, end: at }
  const [text, sign, least, comma, most] = found
  const end = at + text.length
  if (sign !== undefined) return { least: sign === '+' ? 1 : 0, most: sign === '?' ? 1 : Infinity, end }
  const low = Number(least)
  return { least: low, most: comma === '' ? low : most === '' ? Infinity : Number(most), end }
}

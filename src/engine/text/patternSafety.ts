/**
 * Whether a backtracking matcher can need more than polynomial time for a pattern. That takes a repeated group whose
 * content can match one text in several ways, as in (a+)+ or (a|aa)*. The check is stricter than need be: a repeated
 * group may hold neither alternatives nor repetitions, except an optional character before another one, as in (\r?\n)+.
 */

/** What a group (or the whole pattern) holds, as far as the verdict needs it. */
interface Group {
  isAmbiguous: boolean
  /** An optional character that waits for a different one to follow. */
  pendingOptional: string | null
}

const newGroup = (): Group => ({ isAmbiguous: false, pendingOptional: null })

/** False also for a pattern whose groups or classes do not close; the matcher would refuse it too. */
export function hasBoundedBacktracking(pattern: string): boolean {
  const open: Group[] = [newGroup()]
  let at = 0
  while (at < pattern.length) {
    const next = readPart(pattern, at, open)
    if (next === null) return false
    at = next
  }
  return open.length === 1
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

/** The quantifier at `at` with its lazy or possessive mark; {1, 1} where there is none. */
function readQuantifier(pattern: string, at: number): Quantifier {
  const found = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})[?+]?/.exec(pattern.slice(at, at + 32))
  if (found === null) return { least: 1, most: 1, end: at }
  const [text, sign, least, comma, most] = found
  const end = at + text.length
  if (sign !== undefined) return { least: sign === '+' ? 1 : 0, most: sign === '?' ? 1 : Infinity, end }
  const low = Number(least)
  return { least: low, most: comma === '' ? low : most === '' ? Infinity : Number(most), end }
}

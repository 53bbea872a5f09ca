/** Finds added tokens such as <|im_start|> that appear literally in a text, before the rest of the pipeline runs. */

export interface AddedToken {
  readonly id: number
  readonly content: string
  readonly special: boolean
  /** True if the token is found only where no letter or digit touches it. */
  readonly single_word?: unknown
  /** Takes the white space before it along. */
  readonly lstrip?: unknown
  /** Takes the white space after it along. */
  readonly rstrip?: unknown
  /** Is looked for in the normalized text. */
  readonly normalized?: unknown
}

/** A stretch of a text: a token, or text in between (id −1). */
export interface Section {
  readonly id: number
  readonly text: string
  /** Start of the section, in UTF-16 units. */
  readonly start: number
}

export type FindTokens = (text: string) => readonly Section[]

interface Sought {
  readonly token: AddedToken
  readonly content: string
}

/** Cuts at every token: the leftmost, and of several there the longest. */
export function createFinder(sought: readonly Sought[]): FindTokens {
  const root = treeOf(sought)
  if (root.next.size === 0) return (text) => (text === '' ? [] : [{ id: -1, text, start: 0 }])
  const beginnings = new RegExp(`[${[...root.next.keys()].map(escapeUnit).join('')}]`, 'g')
  return (text) => {
    const sections = new Sections(text)
    beginnings.lastIndex = 0
    for (let found = beginnings.exec(text); found !== null; found = beginnings.exec(text)) {
      const entry = longestAt(root, text, found.index)
      if (entry === null) continue
      const end = found.index + entry.content.length
      sections.add(entry.token, found.index, end)
      beginnings.lastIndex = end
    }
    return sections.finish()
  }
}

/** Contents by their code units, as a tree. */
interface Branch {
  readonly next: Map<number, Branch>
  entry: Sought | null
}

const newBranch = (): Branch => ({ next: new Map(), entry: null })

function treeOf(sought: readonly Sought[]): Branch {
  const root = newBranch()
  for (const entry of sought) {
    let branch = root
    for (let at = 0; at < entry.content.length; at++) {
      const unit = entry.content.charCodeAt(at)
      const grown = branch.next.get(unit) ?? newBranch()
      branch.next.set(unit, grown)
      branch = grown
    }
    branch.entry = entry
  }
  root.entry = null
  return root
}

function longestAt(root: Branch, text: string, start: number): Sought | null {
  let longest: Sought | null = null
  let branch: Branch | undefined = root
  for (let at = start; branch !== undefined; at++) {
    longest = branch.entry ?? longest
    branch = at < text.length ? branch.next.get(text.charCodeAt(at)) : undefined
  }
  return longest
}

const escapeUnit = (unit: number): string => `\\u${unit.toString(16).padStart(4, '0')}`

const endsInWord = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]$/u
const beginsWithWord = /^[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]/u
const spaceHere = /\p{White_Space}*/uy

class Sections {
  readonly #text: string
  readonly #found: Section[] = []
  #end = 0

  constructor(text: string) {
    this.#text = text
  }

  add(token: AddedToken, from: number, to: number): void {
    if (token.single_word === true && this.#touchesWord(from, to)) return
    const start = token.lstrip === true ? Math.max(this.#end, this.#spaceBefore(from)) : from
    const end = token.rstrip === true ? to + this.#spaceAfter(to) : to
    this.#addText(start)
    this.#found.push({ id: token.id, text: token.content, start })
    this.#end = end
  }

  finish(): readonly Section[] {
    this.#addText(this.#text.length)
    return this.#found
  }

  #addText(to: number): void {
    const start = this.#end
    if (start < to) this.#found.push({ id: -1, text: this.#text.slice(start, to), start })
  }

  #touchesWord(from: number, to: number): boolean {
    const [before, after] = [this.#text.slice(Math.max(0, from - 2), from), this.#text.slice(to, to + 2)]
    return endsInWord.test(before) || beginsWithWord.test(after)
  }

  #spaceBefore(from: number): number {
    let start = from
    while (start > this.#end && isSpace.test(this.#text.charAt(start - 1))) start--
    return start
  }

  #spaceAfter(to: number): number {
    spaceHere.lastIndex = to
    return spaceHere.exec(this.#text)?.[0].length ?? 0
  }
}

const isSpace = /\p{White_Space}/u

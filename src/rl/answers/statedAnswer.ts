/** Finds where a text states its answer: a marker, the words “the answer is”, or nowhere in particular. */
import { withCompounds } from './compoundWords.ts'
import { withMagnitudes } from './magnitudes.ts'
import { withDigits } from './numberWords.ts'
import { plainCharacters } from './plainText.ts'
import { measureBehind } from './units.ts'

export interface StatedAnswer {
  /** Text of the marker or, without one, the whole text, with characters normalised. */
  readonly text: string
  /**
   * `marked`: this and nothing else is the answer. `said`: the answer begins here. `unmarked`: it may be anywhere.
   */
  readonly kind: 'marked' | 'said' | 'unmarked'
}

/** Finds the stated answer. `isAnswer` decides if the rest of a line behind #### is one: it could also be a heading. */
export function statedAnswer(text: string, isAnswer: (line: string) => boolean): StatedAnswer {
  const { text: stated, kind } = written(text, (line) => isAnswer(withDigits(line)))
  return { text: withDigits(stated), kind }
}

function written(text: string, isAnswer: (line: string) => boolean): StatedAnswer {
  const own = withMagnitudes(withCompounds(withSigns(plainCharacters(withoutThoughts(text)))))
  const marked = tagged(own) ?? boxed(own)
  if (marked !== null) return { text: marked, kind: 'marked' }
  const line = lineAfter(own, '####')
  if (line !== null && isAnswer(line)) return { text: line, kind: 'marked' }
  const said = saidAnswer(own)
  return said === null ? { text: own.trim(), kind: 'unmarked' } : { text: said, kind: 'said' }
}

/**
 * “root 5”, “the square root of (x + 1)”, of one number, letter or bracket with nothing behind it: how far a root
 * reaches is not said in words. “The equation has the root 5” is no square root.
 */
const rootInWords =
  /(?:(?<![\p{L}\\])(?:the )?(square|cube) root(?: of)?|(?<=(?:^|[=\d*+({$-]|\bis)\s*)root(?: of)?)\s+(\d+(?:\.\d+)?|\p{L}|\([^()]{1,40}\))(?=\s*(?:$|[.,;:)\]}$\n](?!\d)))/giu

const belowZero =
  /(?<![-\d.,])(\d+(?:\.\d+)?(?: ?°[CF]?| degrees?(?: celsius| fahrenheit)?)?) below (?:zero|0)\b/gi

/** Writes “minus 5” and “5 below zero” as −5; an answer that is called wrong is removed. */
const withSigns = (text: string): string =>
  text
    .replace(/\b(?:wrong|incorrect|false)\s+(?:answer|result)\b[^.\n]*/gi, ' ')
    .replace(/\b(?:minus|negative)\s+(?=[\d.$\\])/gi, '-')
    .replace(belowZero, '-$1')
    .replace(rootInWords, (_, which: string | undefined, of: string) =>
      which?.toLowerCase() === 'cube' ? `\\sqrt[3]{${of}}` : `\\sqrt{${of}}`,
    )

const labels =
  /\b(?:chapter|question|problem|exercise|step|page|figure|fig\.|equation|eq\.|section|table|example|line|lemma|theorem|appendix|attempt)\s*[#(]?\d+(?![\d%]|[.,]\d)[ \t]*:?/gi
const listMarks = /^[ \t]*\(?\d{1,2}[.)][ \t]+(?=\S)/gm
const firstListMark = /^[ \t]*\(?1[.)][ \t]+\S/m

/** The text without numbers that only count its parts: “Step 5”, and the marks of a list that begins with 1. */
export function withoutLabels(text: string): string {
  const own = firstListMark.test(text) ? text.replace(listMarks, '') : text
  return own.replace(labels, ' ')
}

/** Returns true if a statement only bounds or denies what it names: “less than 10”, “either 9 or 10”, “> 10”. */
export const isHedged = (text: string): boolean =>
  /^\W{0,3}(?:text\s*\{\s*)?(?:not|never|less|more|greater|fewer|smaller|larger|under|over|at (?:most|least)|between|either|neither)\b|^\s*\$?\s*(?:[<>≤≥≠]|\\(?:le|ge|leq|geq|ne|neq|lt|gt)(?![a-z]))/i.test(
    text,
  )

function withoutThoughts(text: string): string {
  const [opened, end] = [text.lastIndexOf('<think>'), text.lastIndexOf('</think>')]
  // A thought that was cut off says nothing.
  if (opened > end) return text.slice(0, opened)
  const after = end < 0 ? '' : text.slice(end + '</think>'.length)
  return after.trim() === '' ? text : after
}

function lineAfter(text: string, marker: string): string | null {
  const at = text.lastIndexOf(marker)
  if (at < 0) return null
  return text
    .slice(at + marker.length)
    .trimStart()
    .split('\n', 1)[0]!
    .trim()
}

/** Content of the last `<answer>`, or of a box in it. */
function tagged(text: string): string | null {
  const at = text.lastIndexOf('<answer>')
  if (at < 0) return null
  const inside = text
    .slice(at + '<answer>'.length)
    .split('</answer>', 1)[0]!
    .trim()
  return boxed(inside) ?? inside
}

const announcement =
  /\b(?:answer|result)(?:\s+(?:is|are|was|would be|should be|equals)\b)?\s*(?:[:=]|(?<=\b(?:is|are|was|be|equals)\b))\s*:?\s*/gi
/** The same in other languages, where a colon stands behind the word or, in Chinese and Japanese, the verb. */
const announcedElsewhere =
  /(?<!\p{L})(?:antwort|ergebnis|lösung|réponse|résultat|respuesta|resultado|risposta|risultato|resposta|ответ|результат|정답|답)\s*[:=]\s*|(?:答案|结果|結果|答え|答)\s*(?:[是为為は]|等[于於])?\s*[:=]?\s*(?<=[是为為は于於:=]\s*)/giu
const sentenceEnd = /[.!?;]?\s*(?:\n|$)|[.!?](?=\s)/

/** The sentence behind the last “answer is” or “Answer:”. */
function saidAnswer(text: string): string | null {
  let start = -1
  for (const pattern of [announcement, announcedElsewhere])
    for (const { index, 0: words } of text.matchAll(pattern)) start = Math.max(start, index + words.length)
  if (start < 0) return null
  const rest = text.slice(start)
  const display = /^(?:\$\$|\\\[)[^]*?(?:\$\$|\\\])/.exec(rest)?.[0]
  const said = display ?? sentenceOf(rest)
  return said === '' || /^not\b/i.test(said) ? null : said
}

/** The first sentence; empty for a question, as in “The answer is 8? No.” */
function sentenceOf(text: string): string {
  const end = sentenceEnd.exec(text)?.index
  return text.charAt(end ?? -1) === '?' ? '' : text.slice(0, end).trim()
}

const boxes = /\\(?:boxed|fbox)\s*\{/g
const mostBoxes = 16
const longestBox = 4000

interface Box {
  readonly start: number
  readonly end: number
  readonly inside: string
}

/** The content of the last box; of several that belong together all, with commas between. */
function boxed(text: string): string | null {
  const found = [...text.matchAll(boxes)].slice(-mostBoxes).flatMap(({ index, 0: opening }) => {
    const end = closingBrace(text, index + opening.length)
    return end < 0 ? [] : [{ start: index, end, inside: text.slice(index + opening.length, end) }]
  })
  const outer = found.filter((box) => !found.some((other) => other.start < box.start && box.end < other.end))
  const group: Box[] = []
  for (const box of outer.reverse()) {
    const [next] = group
    if (next !== undefined && !areTogether(text.slice(box.end + 1, next.start))) break
    group.unshift(box)
  }
  const stated = new Set(group.map((box) => withSurroundings(text, box)))
  return group.length === 0 ? null : [...stated].join(', ')
}

/** Index of the brace that closes the one open at `from`; −1 if there is none. */
function closingBrace(text: string, from: number): number {
  let depth = 1
  for (let at = from; at < Math.min(text.length, from + longestBox); at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '{') depth++
    else if (text[at] === '}' && --depth === 0) return at
  }
  return -1
}

/** “, ”, “ and ”, “ or ”, “Case 2:” between two boxes, with few words more; or no word at all. */
const areTogether = (between: string): boolean =>
  between.length <= 60 &&
  /^[^\p{L}\d]*(?:\(?[a-z\d]{1,3}[).][^\p{L}\d]*)?$|,|;|\band\b|\bor\b|\b(?:case|part|solution|root|option)\s*\(?(?:\d|[a-z]|[ivx]+)\b/iu.test(
    between,
  )

/** A minus before a box and a percent sign or unit behind it belong to its content. */
function withSurroundings(text: string, { start, end, inside }: Box): string {
  const isNegative = /(?:^|[^\w)}\]\s])\s*-\s*$/.test(text.slice(Math.max(0, start - 12), start))
  const goesOn = /^(?:\s*[/*]\s*\d+|\^\{?-?\d+\}?)/.exec(text.slice(end + 1, end + 20))?.[0] ?? ''
  return `${isNegative ? '-' : ''}${inside.trim()}${goesOn}${measureBehind(text.slice(end + 1, end + 80))}`
}

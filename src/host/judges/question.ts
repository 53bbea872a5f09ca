/** Builds the question to a judge about a completion, and reads the score in its answer. */
import { rubricText, type JudgeSettings } from '#shared/config/judge.ts'
import { expectedText } from '#rl/environments/common.ts'
import type { RewardInput } from '#rl/rewards.ts'

/** Fills the question; every placeholder is replaced once, and one inside a completion stays text. */
export function questionText(
  settings: Pick<JudgeSettings, 'question' | 'rubric' | 'referenceColumn' | 'min' | 'max'>,
  { prompt, completion, row }: Pick<RewardInput, 'prompt' | 'completion' | 'row'>,
): string {
  const { question, rubric, referenceColumn, min, max } = settings
  const reference = expectedText(row, referenceColumn)
  const values: Readonly<Record<string, string>> = {
    prompt: enclosed(prompt, 'prompt'),
    completion: enclosed(completion, 'response'),
    reference:
      reference === null
        ? ''
        : `\n<reference_answer>\n${enclosed(reference, 'reference_answer')}\n</reference_answer>\n`,
    rubric: rubricText(rubric),
    min: String(min),
    max: String(max),
  }
  return question.replaceAll(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole)
}

/** Escapes the closing tag, so that graded text cannot end the tag around it and go on as the grader’s own question. */
const enclosed = (text: string, tag: string): string => text.replaceAll(`</${tag}`, `<\\/${tag}`)

export interface AnswerToken {
  readonly text: string
  /** The most probable tokens at its place, itself among them; asked for at one place only. */
  readonly top: () => readonly Candidate[]
}

export interface Candidate {
  readonly text: string
  /** Nats. */
  readonly logprob: number
}

export interface JudgeAnswer {
  readonly text: string
  /** Tokens; null where they are not needed. */
  readonly tokens: readonly AnswerToken[] | null
  /** True if the answer was cut off at its limit of tokens. */
  readonly isTruncated?: boolean
}

type Scale = Pick<JudgeSettings, 'min' | 'max' | 'read' | 'scoreAfter'>

/** Returns the score on the scale of the settings; null: the answer has none. */
export function readScore({ text, tokens }: JudgeAnswer, settings: Scale): number | null {
  // Tokens may be more than the text, such as what a server strips from the front.
  const whole = tokens === null ? text : tokens.map((token) => token.text).join('')
  const found = scoreIn(whole, settings.scoreAfter)
  if (found === null || found.value < settings.min || found.value > settings.max) return null
  const isCounted = settings.read === 'expected' && tokens !== null && /^\d$/.test(found.digits)
  return isCounted ? expectedScore(tokens, found.at, settings) : found.value
}

interface FoundScore {
  readonly value: number
  readonly digits: string
  /** Offset of its digits. */
  readonly at: number
}

const number = /-?\d+(?:\.\d+)?/g
/** Score after its introducing words: spaces, quotes and marks of emphasis may stand between. */
const scoreBehind = /^[\s*_:="'“(\[<>]{0,12}(-?\d+(?:\.\d+)?)/

function scoreIn(text: string, scoreAfter: string): FoundScore | null {
  const foundAt = (digits: string, at: number) => ({ value: Number(digits), digits, at })
  if (scoreAfter === '' || /^\s*-?\d+(?:\.\d+)?\s*$/.test(text)) {
    const last = [...text.matchAll(number)].at(-1)
    return last === undefined ? null : foundAt(last[0], last.index)
  }
  const words = new RegExp(scoreAfter.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`), 'gi')
  const last = [...text.matchAll(words)].at(-1)
  if (last === undefined) return null
  const end = last.index + last[0].length
  const behind = scoreBehind.exec(text.slice(end, end + 100))
  const digits = behind?.[1]
  return behind === null || digits === undefined
    ? null
    : foundAt(digits, end + behind[0].length - digits.length)
}

/**
 * Σ p·s / Σ p over the scores s among the most probable tokens at the place of the score, as in G-Eval (Liu et al. 2023):
 * most of the noise of a sampled score goes away. Every score of the scale is one digit.
 */
function expectedScore(tokens: readonly AnswerToken[], at: number, { min, max }: Scale): number {
  let start = 0
  const token = tokens.find(({ text }) => (start += text.length) > at)
  if (token === undefined) throw new Error('Expected a token where the score stands.')
  const lead = token.text.slice(0, at - (start - token.text.length))
  let [mass, sum] = [0, 0]
  for (const { text, logprob } of token.top()) {
    const score = digitOf(text, lead)
    if (score === null || score < min || score > max) continue
    mass += Math.exp(logprob)
    sum += score * Math.exp(logprob)
  }
  const written = Number(token.text.slice(lead.length, lead.length + 1))
  // Rounded far below what a judge can mean: a few last bits depend on which rows are computed together.
  return mass > 0 ? Math.round((1e6 * sum) / mass) / 1e6 : written
}

function digitOf(text: string, lead: string): number | null {
  const rest = lead !== '' && text.startsWith(lead) ? text.slice(lead.length) : text.trim()
  return /^\d$/.test(rest) ? Number(rest) : null
}

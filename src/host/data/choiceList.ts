/** The possible answers of one question: how they are written in a row, and which of them is meant by an answer. */
import { parsedLiteral } from '#shared/literals.ts'
import { isJsonObject } from '#host/files/strictJson.ts'
import type { DataRow } from './dataFile.ts'

export interface Choice {
  readonly letter: string
  readonly text: string
}

/**
 * Reads a list of texts, {text: […], label: […]} as ARC has it, {A: …, B: …} or a list of {key, value} as MedQA has it; null
 * for anything else.
 */
export function choicesIn(value: unknown): readonly Choice[] | null {
  if (typeof value === 'string') return /^\s*[[{]/.test(value) ? choicesIn(parsedLiteral(value)) : null
  return letteredChoices(value) ?? listedChoices(value)
}

function listedChoices(value: unknown): readonly Choice[] | null {
  const object = isJsonObject(value) ? value : null
  const texts = object === null ? value : object['text']
  if (!Array.isArray(texts) || texts.length < 2 || !texts.every((text) => typeof text === 'string'))
    return null
  const labels = Array.isArray(object?.['label']) ? object['label'].map(String) : []
  return texts.map((text: string, index) => ({ text, letter: labels[index] ?? letterAt(index) }))
}

/** An object of letters and texts, or a list of such pairs; letters without a text, as Parquet writes them, are left out. */
function letteredChoices(value: unknown): readonly Choice[] | null {
  const pairs = Array.isArray(value)
    ? value.map((entry: unknown) =>
        isJsonObject(entry) ? [entry['key'] ?? entry['label'], entry['value'] ?? entry['text']] : [],
      )
    : isJsonObject(value)
      ? Object.entries(value)
      : []
  const choices = pairs.flatMap(([letter, text]): Choice[] =>
    typeof letter === 'string' && /^\(?[A-Z\d]\)?$/i.test(letter) && typeof text === 'string'
      ? [{ letter, text }]
      : [],
  )
  const isOther = ([, text]: readonly unknown[]) => text !== null && text !== undefined
  return choices.length > 1 && choices.length === pairs.filter(isOther).length ? choices : null
}

export const letterAt = (index: number): string => String.fromCharCode('A'.charCodeAt(0) + index)

/** The choices that a row has in columns of their own; null where it has fewer than two. */
export function choicesOf(row: DataRow, from: readonly string[]): readonly Choice[] | null {
  const choices = from.flatMap((name, at) => {
    const text = textIn(row[name])
    return text.trim() === '' ? [] : [{ letter: letterAt(at), text }]
  })
  return choices.length < 2 ? null : choices
}

/** The choice whose letter the answer is. */
export const letteredAs = (given: unknown, choices: readonly Choice[]): Choice | undefined => {
  const said = textIn(given).trim()
  return (
    choices.find(({ letter }) => letter === said) ??
    choices.find(({ letter }) => letter.toLowerCase() === said.toLowerCase())
  )
}

/** The choice that is written as the answer is. */
export const writtenAs = (given: unknown, choices: readonly Choice[]): Choice | undefined =>
  choices.find(({ text }) => text === given)

/**
 * The choice meant by its letter or its text. Where a text looks like the letter of another choice, letters win, unless the
 * answers are known to be texts.
 */
export const namedChoice = (
  given: unknown,
  choices: readonly Choice[],
  isText: boolean | undefined,
): Choice | undefined => {
  const [letter, text] = [letteredAs(given, choices), writtenAs(given, choices)]
  return isText === true ? (text ?? letter) : (letter ?? text)
}

/** A whole number, also as text; null for anything else. */
export function placeIn(value: unknown): number | null {
  if (typeof value === 'number') return value
  return typeof value === 'string' && /^\s*\d+\s*$/.test(value) ? Number(value) : null
}

/** Texts that begin with their letter stay as they are. */
export function lineOf({ letter, text }: Choice): string {
  const bare = text.replace(/^\(/, '')
  const isLettered = bare.startsWith(letter) && /^[).:]/.test(bare.slice(letter.length))
  return isLettered ? text : `${letter}. ${text}`
}

export const textIn = (value: unknown): string =>
  typeof value === 'string' ? value : value === null || value === undefined ? '' : JSON.stringify(value)

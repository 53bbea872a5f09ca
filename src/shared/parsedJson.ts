import { attempt } from './attempt.ts'

/** Returns the value of a text in JSON; null for any other text. */
export const parsedJson = (text: string): unknown => attempt(() => JSON.parse(text) as unknown, null)

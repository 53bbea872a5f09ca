/** User's choices on how runs read a version of a data set. */

/** `data.prompt` of a run config. */
export type PromptForm =
  | { readonly column: string }
  | { readonly template: string }
  | { readonly messages: readonly { readonly role: string; readonly content: string }[] }

/** `data.heldOut` of a run config, if it is a part of the training rows. */
export type SplitRule =
  { readonly share: number; readonly seed: number } | { readonly rows: number; readonly seed: number }

/** Default validation split: enough to tell learning from memorizing. */
export const defaultSplit: SplitRule = { share: 0.1, seed: 42 }

/** Rows below which a share may fall on none of them. */
const fewRows = 50

/** Validation split of that many rows where none was chosen: of few rows at least one. */
export const splitFor = (rows: number): SplitRule =>
  rows < fewRows ? { rows: Math.max(1, Math.round(rows / 10)), seed: defaultSplit.seed } : defaultSplit

/** Null: no choice was made, and the detected prompt applies. */
export interface Preparation {
  readonly prompt: PromptForm | null
  readonly maxPromptTokens: number | null
  readonly heldOut: SplitRule | null
}

const nothing: Preparation = { prompt: null, maxPromptTokens: null, heldOut: null }

/** Parses stored choices; invalid ones count as not made. */
export function parsePreparation(stored: unknown): Preparation {
  if (!isObject(stored)) return nothing
  const { prompt, maxPromptTokens, heldOut } = stored
  return {
    prompt: parsePromptForm(prompt),
    maxPromptTokens: isWhole(maxPromptTokens) && maxPromptTokens > 0 ? maxPromptTokens : null,
    heldOut: parseSplit(heldOut),
  }
}

export function parsePromptForm(value: unknown): PromptForm | null {
  if (!isObject(value)) return null
  const { column, template, messages } = value
  if (typeof column === 'string' && column !== '') return { column }
  if (typeof template === 'string' && template !== '') return { template }
  if (!Array.isArray(messages) || messages.length === 0 || !messages.every(isMessage)) return null
  return { messages: messages.map(({ role, content }) => ({ role, content })) }
}

function parseSplit(value: unknown): SplitRule | null {
  if (!isObject(value) || !isWhole(value['seed'])) return null
  const { share, rows, seed } = value
  if (typeof share === 'number' && share > 0 && share < 1) return { share, seed }
  return isWhole(rows) && rows > 0 ? { rows, seed } : null
}

type Fields = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null
const isWhole = (value: unknown): value is number => Number.isInteger(value) && Number(value) >= 0
const isMessage = (value: unknown): value is { role: string; content: string } =>
  isObject(value) && typeof value['role'] === 'string' && typeof value['content'] === 'string'

/** Number of rows longer than `limit`. `lengths`: each length with its number of rows. */
export function cutBeyond(lengths: readonly (readonly [length: number, rows: number])[], limit: number) {
  const rowsOf = (some: typeof lengths) => some.reduce((sum, [, count]) => sum + count, 0)
  const [rows, all] = [rowsOf(lengths.filter(([length]) => length > limit)), rowsOf(lengths)]
  return { rows, share: all === 0 ? 0 : rows / all }
}

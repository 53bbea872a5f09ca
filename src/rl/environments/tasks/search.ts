import { invalidConfig } from '#shared/errors.ts'
import type { DataRow } from '#rl/rollout/prompts.ts'
import { defineTask, isTurns, type Retrieve, taggedAnswer } from './common.ts'

/**
 * Asks questions that a search helps to answer: `<search>words</search>` is answered with the results,
 * `<answer>words</answer>` ends the episode. Rows have the question and its accepted answers. The provider of the
 * retriever decides where it searches: `corpus`, or `url` with `api`.
 */
export const search = defineTask({
  id: 'search',
  description:
    'Several turns: questions of a data set, with a search in documents of your own or at the address of a search engine. 1 for the right answer in <answer> tags, else 0.',
  settings: {
    corpus: '',
    url: '',
    api: 'searxng',
    results: 3,
    timeoutSeconds: 5,
    turns: 4,
    questionColumn: 'question',
    answerColumn: 'answer',
  },
  create({ results, timeoutSeconds, turns, questionColumn, answerColumn }, { retrieve }) {
    if (!isTurns(turns) || !(results >= 1) || !(timeoutSeconds > 0 && timeoutSeconds <= 3600)) {
      throw invalidConfig(
        'The search environment needs 1 to 1000 turns, at least one result and a timeout of at most 3600 seconds.',
      )
    }
    if (retrieve === undefined) {
      throw invalidConfig('There is nothing that the search environment could search in here.')
    }
    const engine = engineOf(retrieve, { results: Math.floor(results), timeoutMs: 1000 * timeoutSeconds })
    return {
      maxTurns: turns,
      reset({ row }) {
        const question = row[questionColumn]
        if (typeof question !== 'string')
          throw new Error(`Expected a question in column “${questionColumn}”.`)
        return { state: { searches: 0 }, observation: `${instructions}\n\nQuestion: ${question}` }
      },
      async step({ state, action, row }) {
        const query = searchIn(action)
        if (query !== null) {
          const found = await engine(query)
          return {
            state: { searches: state.searches + 1 },
            observation: `\n\n<information>${found.text}</information>\n\n`,
            columns: { search: query, ...(found.fault === null ? {} : { 'search error': found.fault }) },
            metrics: { searches: state.searches + 1, 'search errors': Number(found.fault !== null) },
          }
        }
        const answer = taggedAnswer(action)
        if (answer === null) return { observation: '', metrics: { 'invalid turns': 1 } }
        const isRight = acceptedAnswers(row, answerColumn).includes(tidy(answer))
        return { reward: Number(isRight), terminated: true, metrics: { correct: Number(isRight) } }
      },
    }
  },
})

const instructions =
  'Answer the question. Where you lack knowledge, write what you want to look up in <search> tags and end your turn; ' +
  'what is found comes back in <information> tags. You may search several times. When you know the answer, write it in ' +
  '<answer> tags, as briefly as you can.'

/** Returns the first search request of an action, unless an answer was given before it. */
function searchIn(action: string): string | null {
  const found = /<search>(.*?)<\/search>/s.exec(action)
  if (found === null) return null
  return /<answer>.*?<\/answer>/s.test(action.slice(0, found.index)) ? null : found[1]!.trim()
}

function acceptedAnswers(row: DataRow, column: string): string[] {
  const value = row[column]
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  const answers = list.filter((each) => typeof each === 'string' || typeof each === 'number')
  if (answers.length === 0) throw new Error(`Expected an answer, or a list of them, in column “${column}”.`)
  return answers.map((answer) => tidy(String(answer)))
}

/** Case, punctuation, articles and white space do not matter (Rajpurkar et al. 2016). */
const tidy = (text: string): string =>
  text
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(/[\p{P}\p{S}]/gu, '')
    .replaceAll(/\b(?:a|an|the)\b/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()

interface Found {
  readonly text: string
  /** Description of the error; null where there was none. */
  readonly fault: string | null
}

/** A text of one result is cut here: a page must not fill the context. */
const maxCharacters = 2000

const engineOf =
  (retrieve: Retrieve, { results, timeoutMs }: { readonly results: number; readonly timeoutMs: number }) =>
  async (query: string): Promise<Found> => {
    try {
      const texts = await retrieve(query, results, AbortSignal.timeout(timeoutMs))
      return { text: texts.slice(0, results).map(asLine).join(''), fault: null }
    } catch (error) {
      const fault = sentenceOf(error)
      return { text: `[SearchTool Error: ${fault}]`, fault }
    }
  }

const asLine = (text: string): string => `  ${text.slice(0, maxCharacters)}\n`

/** “fetch failed” says less than its cause. */
function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error).slice(0, 200)
  const { message, cause } = error
  return (cause instanceof Error ? `${message}: ${cause.message}` : message).slice(0, 200)
}

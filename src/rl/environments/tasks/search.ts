import { AppError } from '#shared/errors.ts'
import type { DataRow } from '#rl/rollout/prompts.ts'
import { defineTask, type FetchJson, isTurns, taggedAnswer } from './common.ts'

/**
 * Questions that are answered with the help of a search engine: `<search>words</search>` is answered with what it finds,
 * `<answer>words</answer>` ends the episode. Rows bring the question and what counts as its answer.
 */
export const search = defineTask({
  id: 'search',
  description:
    'Several turns: questions of a data set, with a search engine at an address of your own. 1 for the right answer in <answer> tags, else 0.',
  settings: {
    url: '',
    results: 3,
    timeoutSeconds: 5,
    turns: 4,
    questionColumn: 'question',
    answerColumn: 'answer',
  },
  create({ url, results, timeoutSeconds, turns, questionColumn, answerColumn }, { fetchJson }) {
    if (!isTurns(turns) || !(results >= 1) || !(timeoutSeconds > 0 && timeoutSeconds <= 3600)) {
      throw new AppError(
        'config/invalid',
        'The search environment needs 1 to 1000 turns, at least one result and a timeout of at most 3600 seconds.',
      )
    }
    const engine = openEngine(url, fetchJson, { results, timeoutMs: 1000 * timeoutSeconds })
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
            columns: { search: query },
            metrics: { searches: state.searches + 1, 'search errors': Number(found.hasFailed) },
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

/** What is searched for first, unless an answer was given before it. */
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
  readonly hasFailed: boolean
}

/** A text of one result is cut here: a page must not fill the context. */
const maxCharacters = 2000

function openEngine(
  url: string,
  fetchJson: FetchJson | undefined,
  { results, timeoutMs }: { readonly results: number; readonly timeoutMs: number },
): (query: string) => Promise<Found> {
  const address = URL.canParse(url) ? new URL(url) : null
  if (address === null || !['http:', 'https:'].includes(address.protocol)) {
    throw new AppError(
      'config/invalid',
      url === '' ? 'The search environment has no address to search at.' : `“${url}” is no http address.`,
      'Set environment.settings.url to that of a search engine that answers ?q=…&format=json, such as a SearXNG of your own.',
    )
  }
  if (fetchJson === undefined) {
    throw new AppError('config/invalid', 'The search environment may not use the network here.')
  }
  return async (query) => {
    const asked = new URL(address)
    asked.searchParams.set('q', query)
    asked.searchParams.set('format', 'json')
    try {
      const answer = await fetchJson(asked.href, AbortSignal.timeout(timeoutMs))
      return { text: textsOf(answer).slice(0, results).map(asLine).join(''), hasFailed: false }
    } catch (error) {
      return { text: `[SearchTool Error: ${sentenceOf(error)}]`, hasFailed: true }
    }
  }
}

const asLine = (text: string): string => `  ${text.slice(0, maxCharacters)}\n`

const sentenceOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).slice(0, 200)

/** The `content` of each of the `results`. */
function textsOf(answer: unknown): string[] {
  const list = typeof answer === 'object' && answer !== null && 'results' in answer ? answer.results : null
  if (!Array.isArray(list)) throw new Error('the answer has no list of results')
  return list.map((entry: unknown) => {
    const content = typeof entry === 'object' && entry !== null && 'content' in entry ? entry.content : ''
    return typeof content === 'string' ? content : ''
  })
}

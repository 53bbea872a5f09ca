/**
 * The metrics that a step reports about its prompts and their answers: whether prompts give them away or have a markup that
 * the model does not know, and whether the reward asks for them.
 */
import { attempt } from '#shared/attempt.ts'
import type { Metrics } from '#shared/metrics.ts'
import { mean } from '../algorithms/terms/groups.ts'
import { withSwitches, type Prompt } from '../rollout/prompts.ts'
import type { Trajectory } from '../rollout/trajectory.ts'
import { holdsWords } from '../environments/textRewards.ts'
import type { TrainDependencies, TrainedModel } from './dependencies.ts'

interface Parts extends Pick<TrainDependencies, 'config'> {
  readonly model: Pick<TrainedModel, 'tokenizer' | 'chatTemplate'>
}

/** No metrics of prompts that an environment writes. */
export function promptMetrics(trajectories: readonly Trajectory[], parts: Parts): Metrics {
  const prompts = distinct(trajectories)
  const [answers, template] = [answerRatio(prompts, parts), templateRatio(prompts, parts)]
  return {
    ...(answers === null ? {} : { 'prompts/answer_ratio': answers }),
    ...(template === null ? {} : { 'prompts/template_ratio': template }),
    ...answerRewards(trajectories, parts),
  }
}

/** The same for held-out prompts. */
export function heldOutPromptMetrics(trajectories: readonly Trajectory[], parts: Parts): Metrics {
  const answers = answerRatio(distinct(trajectories), parts)
  return answers === null ? {} : { 'eval_prompts/answer_ratio': answers }
}

const distinct = (trajectories: readonly Trajectory[]): Prompt[] =>
  [...new Map(trajectories.map(({ prompt }) => [prompt.row, prompt])).values()].filter(
    ({ text }) => text !== '',
  )

/**
 * Share of the prompts that state their own answer, less the share that states another row's just so: an answer that
 * stands in every prompt, as in an example or among options, gives nothing away. null where rows have no or only one answer.
 */
function answerRatio(prompts: readonly Prompt[], { config }: Parts): number | null {
  const rows = prompts.map((prompt) => ({ text: prompt.text, answers: answersOf(prompt, config) }))
  const told = rows.filter(({ answers }) => answers.length > 0)
  const pairs = told.flatMap((own, i) => {
    const other = [...told.slice(i + 1), ...told.slice(0, i)].find(
      ({ answers }) => answers[0] !== own.answers[0],
    )
    return other === undefined ? [] : [{ ...own, others: other.answers }]
  })
  if (pairs.length === 0) return null
  const share = (pick: (pair: (typeof pairs)[number]) => readonly string[]) =>
    mean(pairs.map((pair) => Number(pick(pair).some((answer) => statesAnswer(pair.text, answer)))))
  return share(({ answers }) => answers) - share(({ others }) => others)
}

/** Columns that reward functions compare with. */
function answersOf({ columns }: Prompt, { rewards }: Parts['config']): string[] {
  const named = rewards.flatMap(({ settings: { column } }) => (typeof column === 'string' ? column : []))
  return [...new Set([...named, 'answer'])].flatMap((column) => textOf(columns[column]))
}

const textOf = (value: unknown): string[] => {
  const text = typeof value === 'number' ? String(value) : typeof value === 'string' ? value.trim() : ''
  return text === '' ? [] : [text]
}

/** Mean reward of the completions in which the answer of their row stands, and of the others. */
function answerRewards(trajectories: readonly Trajectory[], { config }: Parts): Metrics {
  const judged = trajectories.flatMap(({ prompt, completion, reward: { total } }) => {
    const answers = answersOf(prompt, config)
    const isThere = answers.some((answer) => holdsWords(completion, answer))
    return total === null || answers.length === 0 ? [] : [{ isThere, total }]
  })
  const of = (wanted: boolean) => judged.flatMap(({ isThere, total }) => (isThere === wanted ? total : []))
  const [right, wrong] = [of(true), of(false)]
  return {
    ...(right.length === 0 ? {} : { 'reward/with_answer': mean(right) }),
    ...(wrong.length === 0 ? {} : { 'reward/without_answer': mean(wrong) }),
  }
}

/** Words that introduce an answer. */
const marks = [
  'answers?|solutions?|results?|targets?|labels?|gold|expected|correct|truth|reference|keys?|hints?|output',
  'antwort|lösung|ergebnis|réponse|résultat|respuesta|resultado|risposta|resposta|ответ|答案',
  '=+>?|[-–—]>|→|#{4}|\\\\boxed',
].join('|')

const words = 'is|are|was|be|ist|est|es|è|é|the|answer|output|value'
/** Introduction of an answer that is stated. It is compiled once, which takes long for the classes of letters in either case. */
const introduction = new RegExp(
  `(?<=(?<![\\p{L}])(?:${marks})(?![\\p{L}])(?:[\\s:*_"“’'(\\[{–—-]|${words})*)(?<![\\p{L}\\p{N}])`,
  'iuy',
)
const clauseEnd = '(?=[.!?]*\\s*(?:$|[\\n;|)\\]}"”’\'<*_]|[.!?]\\s))'

/**
 * Tells whether a prompt states its answer: the whole answer between a word such as “answer” and the end of a clause.
 * One that merely stands in the text, as in a passage to read or among options, does not count.
 */
export function statesAnswer(prompt: string, answer: string): boolean {
  const literal = answer
    .replace(/[.!?]+$/, '')
    .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    .replace(/\s+/g, '\\s+')
  if (literal === '') return false
  const closing = new RegExp(`${literal}${clauseEnd}`, 'giu')
  for (let found = closing.exec(prompt); found !== null; found = closing.exec(prompt)) {
    introduction.lastIndex = found.index
    if (introduction.test(prompt)) return true
    // Behind the first character, as occurrences may overlap; one of two units is passed whole.
    closing.lastIndex = found.index + ((prompt.codePointAt(found.index) ?? 0) > 0xffff ? 2 : 1)
  }
  return false
}

/** Markers of chat templates that a model which knows them reads as one token each. */
const markers = /<\|[^\s<>|]{1,40}\|>|<(?:start|end)_of_[a-z]+>/g

/**
 * Share of the prompts that open the answer as the model's chat template does, with no marker that the tokenizer takes for
 * plain text; null where the model has no template.
 */
function templateRatio(prompts: readonly Prompt[], parts: Parts): number | null {
  const opening = openingOf(parts)
  if (opening === null || prompts.length === 0) return null
  const found = new Set(prompts.flatMap(({ text }) => text.match(markers) ?? []))
  const unknown = [...found].filter(
    (marker) => parts.model.tokenizer.encode(marker, { addSpecialTokens: false }).length !== 1,
  )
  const isKnown = ({ text }: Prompt) =>
    text.includes(opening) && !unknown.some((marker) => text.includes(marker))
  return mean(prompts.map((prompt) => Number(isKnown(prompt))))
}

const placeholder = 'placeholder'

/** Text that the model's template writes between a message and its answer. */
function openingOf({ config, model: { chatTemplate } }: Parts): string | null {
  const own = withSwitches(chatTemplate, config.data.templateVariables)
  return attempt(() => {
    const text = own?.render([{ role: 'user', content: placeholder }], { addGenerationPrompt: true })
    return text?.split(placeholder).at(-1)?.trim() || null
  }, null)
}

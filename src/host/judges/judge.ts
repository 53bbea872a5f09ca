/**
 * The reward “judge”. Reading guide of this folder:
 *
 *   judge.ts         (here) completions to scores, each question asked once
 *   question.ts      what is asked, and the score in an answer
 *   judgeLog.ts      what was answered, and what it cost
 *   localJudge.ts    a model on this machine; addressJudge.ts: one behind an address
 *   runJudges.ts     the judges of a run: opening, metrics, budget
 */
import { createHash } from 'node:crypto'
import { judgeDescription, judgeFunction, type JudgeSettings } from '#shared/config/judge.ts'
import { AppError } from '#shared/errors.ts'
import type { ChatMessage } from '#shared/messages.ts'
import type { RewardAnswer, RewardFunction, RewardInput } from '#rl/rewards.ts'
import { addUsage, noUsage, type Judgement, type JudgeLog, type Usage } from './judgeLog.ts'
import { questionText, readScore, type JudgeAnswer } from './question.ts'

/** An answer, or why there can be none. */
export interface Asked {
  /** Index of the question. */
  readonly index: number
  readonly answer: JudgeAnswer | { readonly problem: string }
  readonly usage: Usage
}

export interface ModelQuestion {
  readonly messages: readonly ChatMessage[]
  /** Seed of a sampled answer, which depends on it and the messages alone. */
  readonly seed: number
}

/** Who is asked: a judge, or a teacher whose answers are learned from. */
export interface AskedModel extends AsyncDisposable {
  /**
   * Yields every answer once; those yielded together are kept together or not at all, since they were computed together.
   * Errors: AppError, where it cannot be asked.
   */
  ask(questions: readonly ModelQuestion[]): AsyncGenerator<readonly Asked[]>
}

/** Counts of judging since they were last asked for. */
export interface JudgeCounts {
  readonly answers: number
  /** Answers that came from the log, without asking anybody. */
  readonly cached: number
  readonly unscored: number
  readonly tokens: number
  readonly seconds: number
}

const noCounts: JudgeCounts = { answers: 0, cached: 0, unscored: 0, tokens: 0, seconds: 0 }

export interface JudgeParts {
  /** Name of the reward on charts. */
  readonly name: string
  readonly settings: JudgeSettings
  readonly model: AskedModel
  readonly log: JudgeLog
  /** Called once, when all of the budget is spent. */
  readonly onSpent: (sentence: string) => void
}

export class Judge implements RewardFunction, AsyncDisposable {
  readonly id = judgeFunction
  readonly description = judgeDescription
  readonly #parts: JudgeParts
  readonly #digest: string
  #counts = noCounts
  #hasToldSpent = false

  /** Errors: AppError 'reward/failed' where its budget is spent. */
  constructor(parts: JudgeParts) {
    this.#parts = parts
    this.#digest = digestOf(parts.settings)
    const { name, settings } = parts
    if (!this.#isSpent()) return
    throw new AppError(
      'reward/failed',
      `The judge “${name}” has cost ${shown(this.cost)}, its whole budget of ${settings.budget}.`,
      'Nothing was changed. Fork the run with a larger `budget` to go on.',
    )
  }

  /** Cost so far, by every process of the run; 0 without prices. */
  get cost(): number {
    const { promptPrice, answerPrice } = this.#parts.settings
    const { promptTokens, answerTokens } = this.#parts.log.used(this.#digest)
    return (promptTokens * promptPrice + answerTokens * answerPrice) / 1e6
  }

  get isPriced(): boolean {
    const { promptPrice, answerPrice } = this.#parts.settings
    return promptPrice > 0 || answerPrice > 0
  }

  takeCounts(): JudgeCounts {
    const counts = this.#counts
    this.#counts = noCounts
    return counts
  }

  /** Scores completions; a question that has been asked before gets its earlier score. Errors: those of asking. */
  async score(inputs: readonly RewardInput[]): Promise<readonly RewardAnswer[]> {
    const began = performance.now()
    const questions = inputs.map((input) => questionText(this.#parts.settings, input))
    const known = new Map<string, RewardAnswer>()
    const open = new Map<string, string>()
    for (const question of questions) {
      const key = digestText(question)
      const found = this.#parts.log.find(this.#digest, key)
      if (found === null) open.set(key, question)
      else known.set(key, this.#answerOf(found))
    }
    const tokens = await this.#askFor(open, known)
    const answers = questions.map((question) => known.get(digestText(question)) ?? unanswered)
    const unscored = answers.filter((answer) => 'value' in answer && answer.value === null).length
    this.#count({
      answers: inputs.length,
      cached: inputs.length - open.size,
      unscored,
      tokens,
      seconds: (performance.now() - began) / 1000,
    })
    return answers
  }

  /** Adds to `known`. Returns the number of tokens. */
  async #askFor(open: ReadonlyMap<string, string>, known: Map<string, RewardAnswer>): Promise<number> {
    const { log, model, settings } = this.#parts
    const keys = [...open.keys()]
    let tokens = 0
    for await (const group of open.size === 0 ? [] : model.ask([...open.values()].map(asUser))) {
      const judged = new Map<string, Judgement>()
      for (const { index, answer } of group) {
        const key = askedAt(keys, index)
        if ('problem' in answer) known.set(key, { failure: { message: answer.problem } })
        else judged.set(key, { score: readScore(answer, settings), text: answer.text })
      }
      const usage = group.reduce((sum, asked) => addUsage(sum, asked.usage), noUsage)
      if (judged.size > 0) log.add(this.#digest, judged, usage)
      for (const [key, judgement] of judged) known.set(key, this.#answerOf(judgement))
      tokens += usage.promptTokens + usage.answerTokens
      this.#tellSpent()
    }
    return tokens
  }

  #answerOf({ score, text }: Judgement): RewardAnswer {
    const { name, settings } = this.#parts
    const { min, max } = settings
    return {
      value: score === null ? null : (score - min) / (max - min),
      columns: { [`${name}.score`]: score, [`${name}.answer`]: text },
    }
  }

  #count(added: JudgeCounts): void {
    const now = this.#counts
    this.#counts = {
      answers: now.answers + added.answers,
      cached: now.cached + added.cached,
      unscored: now.unscored + added.unscored,
      tokens: now.tokens + added.tokens,
      seconds: now.seconds + added.seconds,
    }
  }

  #isSpent(): boolean {
    const { budget } = this.#parts.settings
    return budget > 0 && this.cost >= budget
  }

  #tellSpent(): void {
    if (this.#hasToldSpent || !this.#isSpent()) return
    this.#hasToldSpent = true
    const { name, settings, onSpent } = this.#parts
    onSpent(
      `The judge “${name}” has cost ${shown(this.cost)}, its whole budget of ${settings.budget}: the run saves a checkpoint and stops after this step. Fork it with a larger \`budget\` to go on.`,
    )
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#parts.model[Symbol.asyncDispose]()
  }
}

const asUser = (content: string): ModelQuestion => ({ messages: [{ role: 'user', content }], seed: 0 })

const unanswered: RewardAnswer = { failure: { message: 'The judge did not answer.' } }

const shown = (cost: number): string => String(Number(cost.toPrecision(3)))

/** Digest of everything that an answer depends on, and nothing else. */
function digestOf(settings: JudgeSettings): string {
  const { model, adapter, precision, device, address, servedModel } = settings
  const { read, scoreAfter, min, max, temperature, maxNewTokens } = settings
  const parts = [model, adapter, precision, device, address, servedModel, read, scoreAfter, min, max]
  return digestText(JSON.stringify([...parts, temperature, maxNewTokens]))
}

export const digestText = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, 32)

/** Returns the question with the number of an answer. */
export function askedAt<Item>(asked: readonly Item[], index: number): Item {
  const item = asked[index]
  if (item === undefined)
    throw new Error(`Expected an answer to one of ${asked.length} questions, got number ${index}.`)
  return item
}

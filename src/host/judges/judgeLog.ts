/**
 * Records what the judges of a run said: one line of JSON per answer, or per batch of answers that depend on each
 * other. The log keeps a judge from being asked the same twice, also after the process was killed, and accounts for
 * what it cost.
 */
import { closeSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { writeFileAtomic } from '#host/files/atomic.ts'
import { appendWhole, openLineLog } from '#host/files/ownFiles.ts'
import { readLines } from '#host/workFolder/lineLog.ts'

/** Verdict of a judge on one completion. */
export interface Judgement {
  /** Score on its own scale; null: it gave none. */
  readonly score: number | null
  readonly text: string
}

/** Tokens. */
export interface Usage {
  readonly promptTokens: number
  readonly answerTokens: number
}

export const noUsage: Usage = { promptTokens: 0, answerTokens: 0 }

export const addUsage = (a: Usage, b: Usage): Usage => ({
  promptTokens: a.promptTokens + b.promptTokens,
  answerTokens: a.answerTokens + b.answerTokens,
})

const lineSchema = z.object({
  /** Digest of the judge and its settings. */
  judge: z.string(),
  promptTokens: z.number(),
  answerTokens: z.number(),
  answers: z.array(z.tuple([z.string(), z.number().nullable(), z.string()])),
})

type Line = z.infer<typeof lineSchema>

/** Number of answers remembered; the oldest are forgotten first. */
const remembered = 32_768

export const judgeLogName = 'judge-answers.jsonl'

export class JudgeLog implements Disposable {
  readonly #answers = new Map<string, Judgement>()
  readonly #used = new Map<string, Usage>()
  /** null: nothing is written. */
  readonly #file: { readonly path: string; readonly handle: number } | null
  readonly #limit: number

  /**
   * `folder` null: a log that is kept nowhere. `isReadOnly`: another process may write it. A line cut short by a killed
   * process is removed. Errors: AppError 'file/unreadable', 'file/unwritable'.
   */
  constructor(folder: string | null, { isReadOnly = false, limit = remembered } = {}) {
    this.#limit = limit
    const file = folder === null ? null : path.join(folder, judgeLogName)
    const lines = linesIn(file)
    for (const line of lines) this.#take(line)
    const isWritten = file !== null && !isReadOnly
    const count = lines.reduce((sum, { answers }) => sum + answers.length, 0)
    if (isWritten && count > 2 * limit) this.#rewrite(file)
    this.#file = isWritten ? { path: file, handle: openLineLog(file) } : null
  }

  find(judge: string, question: string): Judgement | null {
    return this.#answers.get(keyOf(judge, question)) ?? null
  }

  /** Returns what the judge was asked and answered so far, by every process that wrote this log. */
  used(judge: string): Usage {
    return this.#used.get(judge) ?? noUsage
  }

  /** Keeps answers, all or none. Errors: AppError 'file/unwritable'. */
  add(judge: string, answers: ReadonlyMap<string, Judgement>, usage: Usage): void {
    const line: Line = {
      judge,
      ...usage,
      answers: [...answers].map(([question, { score, text }]) => [question, score, text]),
    }
    if (this.#file !== null)
      appendWhole(this.#file.path, this.#file.handle, Buffer.from(`${JSON.stringify(line)}\n`))
    this.#take(line)
  }

  #take({ judge, answers, promptTokens, answerTokens }: Line): void {
    this.#used.set(judge, addUsage(this.used(judge), { promptTokens, answerTokens }))
    for (const [question, score, text] of answers) {
      const key = keyOf(judge, question)
      this.#answers.delete(key)
      this.#answers.set(key, { score, text })
    }
    for (const [oldest] of this.#answers) {
      if (this.#answers.size <= this.#limit) break
      this.#answers.delete(oldest)
    }
  }

  /** Writes the log again without the answers that are forgotten. */
  #rewrite(file: string): void {
    const answers = [...this.#answers]
    const lines = [...this.#used].map(([judge, usage]): Line => ({
      judge,
      ...usage,
      answers: answers
        .filter(([key]) => key.startsWith(`${judge} `))
        .map(([key, { score, text }]) => [key.slice(judge.length + 1), score, text]),
    }))
    writeFileAtomic(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  }

  [Symbol.dispose](): void {
    if (this.#file !== null) closeSync(this.#file.handle)
  }
}

/** A line that is damaged costs its answers, which are asked for again. */
const linesIn = (file: string | null): readonly Line[] =>
  file === null ? [] : readLines(file, lineSchema, () => {})

const keyOf = (judge: string, question: string): string => `${judge} ${question}`

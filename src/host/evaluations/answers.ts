/**
 * Reads and writes `answers.jsonl` of an evaluation: answers and rewards, one row a line in the order in which they
 * were done.
 */
import path from 'node:path'
import type { z } from 'zod'
import { evaluatedPrompt, rowProblem, type EvaluatedPrompt } from '#shared/api/evaluations.ts'
import { invalidData } from '#shared/errors.ts'
import { appendToOwn } from '#host/files/ownFiles.ts'
import { dropTornLine, readLines } from '#host/workFolder/lineLog.ts'

export type RowProblem = z.output<typeof rowProblem>

export interface Answers {
  /** Prompts in the order of the rows. */
  readonly prompts: readonly EvaluatedPrompt[]
  readonly problems: readonly RowProblem[]
}

const answersFile = (directory: string): string => path.join(directory, 'answers.jsonl')

/** Errors: AppError 'file/unwritable'. */
export function addAnswer(directory: string, answer: EvaluatedPrompt | RowProblem): void {
  appendToOwn(answersFile(directory), `${JSON.stringify(answer)}\n`)
}

/** Errors: AppError 'file/unwritable'. */
export const repairAnswers = (directory: string): void => dropTornLine(answersFile(directory))

/**
 * Reads the answers, each row once. Errors: AppError 'file/unreadable', 'data/invalid' for a line that is not one of
 * ours.
 */
export function readAnswers(directory: string): Answers {
  const file = answersFile(directory)
  const prompts = new Map<number, EvaluatedPrompt>()
  const problems = new Map<number, RowProblem>()
  const damaged = (number: number) => {
    throw invalidData(
      `${file} is damaged in line ${number}: what was answered there cannot be read.`,
      'Evaluate again.',
    )
  }
  for (const answer of readLines(file, evaluatedPrompt.or(rowProblem), damaged)) {
    if ('samples' in answer) prompts.set(answer.row, answer)
    else problems.set(answer.row, answer)
  }
  const inOrder = <Row extends { readonly row: number }>(rows: Map<number, Row>) =>
    [...rows.values()].sort((a, b) => a.row - b.row)
  return { prompts: inOrder(prompts), problems: inOrder(problems) }
}

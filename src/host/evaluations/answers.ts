/**
 * Reads and writes `answers.jsonl` of an evaluation: answers and rewards, one row a line in the order in which they
 * were done.
 */
import { closeSync, existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { z } from 'zod'
import { evaluatedPrompt, rowProblem, type EvaluatedPrompt } from '#shared/api/evaluations.ts'
import { AppError } from '#shared/errors.ts'
import { readError } from '#host/files/fileErrors.ts'
import { appendToOwn, openLineLog } from '#host/files/ownFiles.ts'
import { regularFileSize } from '#host/files/strictJson.ts'

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

/** A process may have been killed in the middle of a line, which the next would go on with. Errors: AppError 'file/unwritable'. */
export function dropTornLine(directory: string): void {
  const file = answersFile(directory)
  if (existsSync(file)) closeSync(openLineLog(file))
}

/**
 * Reads the answers, each row once. Errors: AppError 'file/unreadable', 'data/invalid' for a line that is not one of
 * ours.
 */
export function readAnswers(directory: string): Answers {
  const file = answersFile(directory)
  const prompts = new Map<number, EvaluatedPrompt>()
  const problems = new Map<number, RowProblem>()
  for (const [index, line] of linesOf(file).entries()) {
    const answer = parsedLine(line, file, index + 1)
    if ('samples' in answer) prompts.set(answer.row, answer)
    else problems.set(answer.row, answer)
  }
  const inOrder = <Row extends { readonly row: number }>(rows: Map<number, Row>) =>
    [...rows.values()].sort((a, b) => a.row - b.row)
  return { prompts: inOrder(prompts), problems: inOrder(problems) }
}

/** Reads the complete lines. */
function linesOf(file: string): string[] {
  if (!existsSync(file)) return []
  try {
    regularFileSize(file)
    return readFileSync(file, 'utf8').split('\n').slice(0, -1)
  } catch (error) {
    throw readError(file, error)
  }
}

function parsedLine(line: string, file: string, number: number): EvaluatedPrompt | RowProblem {
  try {
    return evaluatedPrompt.or(rowProblem).parse(JSON.parse(line))
  } catch (error) {
    throw new AppError(
      'data/invalid',
      `${file} is damaged in line ${number}: what was answered there cannot be read.`,
      'Evaluate again.',
      error,
    )
  }
}

/**
 * Saves checkpoints until something stops it: in a process of its own, to be killed or to be given a small disk.
 *
 *   node savingProcess.ts forever RUN FIRST   saves step after step, each twice, and says so
 *   node savingProcess.ts untilFull RUN       … larger and larger, until one fails; then says what is left
 *   node savingProcess.ts readOnly RUN        saves two, then its disk becomes read-only
 *   node savingProcess.ts forbidden RUN       saves two, then the account may not write any more
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, chmodSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { AppError } from '#shared/errors.ts'
import { pruneCheckpoints } from '#host/runs/checkpointRetention.ts'
import { checkpointProblem, listCheckpoints, saveCheckpoint } from '#host/models/checkpoints.ts'
import { exampleCheckpoint } from './exampleCheckpoint.ts'

export interface SavingReport {
  readonly error: { readonly code: string; readonly message: string; readonly hint: string | undefined }
  readonly saved: number
  /** Everything in the folder of checkpoints after the failure. */
  readonly names: readonly string[]
  /** Steps of those that are whole. */
  readonly whole: readonly number[]
  /** Step of one more that was saved after room was made; null where none was tried. */
  readonly afterwards: number | null
}

const [mode = '', run = '', first = '1'] = process.argv.slice(2)
const checkpoints = path.join(run, 'checkpoints')
mkdirSync(run, { recursive: true }) // a run's folder is there before its first checkpoint
const rules = { keepLast: 2, keepBest: 1, bestBy: 'eval_reward', keepEvery: 0, diskBudgetMb: null }

const save = (step: number, width: number) =>
  saveCheckpoint(run, exampleCheckpoint(step, { reward: step % 5, width }))

async function saveForever(): Promise<never> {
  for (let step = Number(first); ; step++) {
    await save(step, 20_000)
    process.stdout.write(`saved ${step}\n`)
    await save(step, 20_000)
    pruneCheckpoints(run, rules)
  }
}

async function saveUntilError(widthOf: (step: number) => number, from = 1): Promise<[number, AppError]> {
  for (let step = from; ; step++) {
    try {
      await save(step, widthOf(step))
    } catch (error) {
      if (error instanceof AppError) return [step - 1, error]
      throw error
    }
  }
}

function report([saved, { code, message, hint }]: [number, AppError], afterwards: number | null): void {
  const whole = listCheckpoints(run).filter(({ directory }) => checkpointProblem(directory) === null)
  const answer: SavingReport = {
    error: { code, message, hint },
    saved,
    names: readdirSync(checkpoints),
    whole: whole.map(({ step }) => step),
    afterwards,
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`)
}

async function saveUntilFull(): Promise<void> {
  const failure = await saveUntilError((step) => 2000 * step)
  const [saved] = failure
  report(failure, null)
  rmSync(path.join(checkpoints, 'step-000002'), { recursive: true })
  await save(saved + 1, 4)
  report(failure, listCheckpoints(run).at(-1)?.step ?? null)
}

async function saveThen(forbid: () => void, allow: () => void): Promise<void> {
  await save(1, 4)
  await save(2, 4)
  forbid()
  const failure = await saveUntilError(() => 4, 3)
  allow()
  report(failure, null)
}

const modes: Readonly<Record<string, () => Promise<unknown>>> = {
  forever: saveForever,
  untilFull: saveUntilFull,
  readOnly: () =>
    saveThen(
      () => execFileSync('mount', ['-o', 'remount,ro', path.dirname(run)]),
      () => {},
    ),
  // Root may write anywhere, so it becomes somebody else for a while.
  forbidden: () =>
    process.getuid?.() === 0
      ? saveThen(
          () => process.seteuid?.(65_534),
          () => process.seteuid?.(0),
        )
      : saveThen(
          () => chmodSync(checkpoints, 0o555),
          () => chmodSync(checkpoints, 0o755),
        ),
}

await modes[mode]?.()

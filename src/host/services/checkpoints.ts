/** Checkpoints of runs, as they lie on the disk, and what is exported from them. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import type { Handlers, OutputOf } from '#shared/api/contract.ts'
import type { Api } from '#shared/api/api.ts'
import type { checkpointsApi } from '#shared/api/checkpoints.ts'
import { AppError } from '#shared/errors.ts'
import type { RunEntry, RunFailure } from '#shared/runs.ts'
import { bestCheckpoint, removeCheckpoint } from '../artifacts/checkpointRetention.ts'
import { checkpointProblem, surveyCheckpoints } from '../artifacts/checkpoints.ts'
import { exportPeft } from '../artifacts/exportAdapter.ts'
import { systemCode } from '../artifacts/fileErrors.ts'
import { lockRun } from '../artifacts/runFolder.ts'
import { rankingOf } from '../artifacts/runTarget.ts'
import type { Host } from '../host.ts'
import { runFiles } from './runFiles.ts'

type CheckpointItem = OutputOf<Api, 'checkpoints.list'>[number]

export const checkpointsService = ({ store, bell }: Host): Handlers<typeof checkpointsApi> => {
  const listOf = (runId: string) => describeCheckpoints(store.runs.get(runId), store.checkpoints.list(runId))
  const one = ({ runId, step }: { readonly runId: string; readonly step: number }) => {
    const found = listOf(runId).find((checkpoint) => checkpoint.step === step)
    if (found === undefined) throw noCheckpoint(runId, step)
    return found
  }
  return {
    list: ({ runId }) => listOf(runId),

    verify(input) {
      const checkpoint = one(input)
      const problem = checkpointProblem(checkpoint.directory)
      return { ...checkpoint, problem: problem === null ? null : damage(problem) }
    },

    delete(input) {
      const { directory } = one(input)
      using _lock = lockRun(store.runs.get(input.runId).directory)
      removeCheckpoint(directory)
      store.checkpoints.remove(input.runId, directory)
      bell.ring()
    },

    formats(input) {
      one(input)
      return (['peft', 'merged', 'gguf', 'onnx'] as const).map((format) => ({
        format,
        problem: formatProblem(format),
      }))
    },

    async *export({ format, out, ...input }) {
      const { directory } = one(input)
      const problem = formatProblem(format)
      if (problem !== null) throw new AppError('api/refused', problem, 'Export the adapter as peft.')
      requireEmpty(out)
      yield { progress: { phase: 'Writing', done: 0, total: null, unit: 'tensors' } }
      const { maxDifference, tensors, ...written } = await exportPeft(directory, out)
      const files = runFiles(written.directory)
      const sizeBytes = files.reduce((sum, file) => sum + file.sizeBytes, 0)
      const sentence = `Read back, ${tensors} tensors differ from the checkpoint by at most ${maxDifference}.`
      const parity = [{ sentence, measured: maxDifference, limit: 0, passed: maxDifference === 0 }]
      yield { result: { format, directory: written.directory, sizeBytes, files, parity } }
    },
  }
}

const formatProblem = (format: string): string | null =>
  format === 'peft' ? null : `This version does not write the format ${format} yet.`

function requireEmpty(folder: string): void {
  try {
    if (!existsSync(folder) || readdirSync(folder).length === 0) return
  } catch (error) {
    if (systemCode(error) !== 'ENOTDIR') throw error
  }
  throw new AppError(
    'file/unwritable',
    `${folder} is not empty.`,
    'Choose another folder; nothing was changed.',
  )
}

const damage = (message: string): RunFailure => ({ code: 'checkpoint/invalid', message, hint: null })

/** The disk says which there are; the history remembers when they were saved. */
function describeCheckpoints(
  run: Pick<RunEntry, 'id' | 'directory'>,
  history: readonly { readonly directory: string; readonly savedAt: number }[],
): CheckpointItem[] {
  const { entries, damaged } = surveyCheckpoints(run.directory)
  const best = bestCheckpoint(entries, rankingOf(run.directory))
  const savedAt = new Map(history.map((saved) => [saved.directory, saved.savedAt]))
  const timeOf = (directory: string) => savedAt.get(directory) ?? Math.trunc(statSync(directory).mtimeMs)
  const whole = entries.map((entry): CheckpointItem => {
    const { step, directory, reward, sizeBytes } = entry
    const facts = { runId: run.id, step, directory, reward, sizeBytes }
    return { ...facts, savedAt: timeOf(directory), isBest: entry === best, problem: null }
  })
  const others = damaged.map(({ step, directory, problem }): CheckpointItem => {
    const sizeBytes = runFiles(directory).reduce((sum, file) => sum + file.sizeBytes, 0)
    const facts = { runId: run.id, step, directory, reward: null, sizeBytes }
    return { ...facts, savedAt: timeOf(directory), isBest: false, problem: damage(problem) }
  })
  return [...whole, ...others].sort((a, b) => a.step - b.step)
}

/** Folder of the checkpoint of a step. Errors: AppError 'run/not-found'. */
export function checkpointDirectory(run: Pick<RunEntry, 'id' | 'directory'>, step: number): string {
  const { entries } = surveyCheckpoints(run.directory)
  const found = entries.find((checkpoint) => checkpoint.step === step)
  if (found === undefined) throw noCheckpoint(run.id, step)
  return found.directory
}

const noCheckpoint = (runId: string, step: number): AppError =>
  new AppError(
    'run/not-found',
    `The run ${runId} has no checkpoint of step ${step}.`,
    'It may have been removed to save space; choose one that is listed.',
  )

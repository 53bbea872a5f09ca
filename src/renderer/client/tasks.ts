/**
 * Tasks of this window that keep the host busy besides training: the status strip shows them, or a busy machine would
 * look idle.
 */
import { create } from 'zustand'
import type { Api } from '#shared/api/api.ts'
import type { StreamName } from '#shared/api/contract.ts'

type TaskName = StreamName<Api>

const words: Readonly<Record<TaskName, string>> = {
  'system.selftest': 'Self-test',
  'libraries.installCuda': 'Installing the CUDA library',
  'system.checkDevice': 'Checking a device',
  'system.measureSpeed': 'Measuring this machine',
  'checkpoints.export': 'Exporting',
  'hub.push': 'Pushing an export',
  'models.fetch': 'Fetching a model',
  'models.import': 'Importing a model',
  'models.precision': 'Measuring quantised weights',
  'models.generate': 'Generating for the blind vote',
  'chat.answer': 'Answering a message',
  'datasets.histogram': 'Counting tokens',
  'datasets.fetch': 'Fetching data',
  'datasets.import': 'Importing data',
  'datasets.difficulty': 'Measuring difficulty',
  'datasets.answer': 'Answering rows',
  'runs.calibrate': 'Checking the new run',
  'studies.calibrate': 'Checking the new study',
  'rewards.dryRun': 'Dry-run of a reward',
  'samples.rescore': 'Dry-run on recorded samples',
  'workflows.try': 'Playing an episode of a workflow',
}

const useTasks = create<{ readonly atWork: readonly TaskName[] }>(() => ({ atWork: [] }))

/** Reports the start of a task; call the returned function at its end. */
export function tellTask(name: TaskName): () => void {
  useTasks.setState(({ atWork }) => ({ atWork: [...atWork, name] }))
  return () => useTasks.setState(({ atWork }) => ({ atWork: atWork.toSpliced(atWork.lastIndexOf(name), 1) }))
}

/** Lists the tasks in words, oldest first, each once. */
export const useTaskWords = (): string =>
  useTasks(({ atWork }) => [...new Set(atWork.map((name) => words[name]))].join(' · '))

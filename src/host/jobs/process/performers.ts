/** Code of every job, loaded in a process of its own when it is asked for. */
import type { calibrationJob } from '#host/jobs/calibrationReport.ts'
import type { deviceListJob, deviceSpeedJob, deviceTestJob } from '#host/jobs/deviceCheck.ts'
import type { evaluationJob } from '#host/jobs/evaluationJob.ts'
import type { exportJob, projectJob } from '#host/jobs/exportJobs.ts'
import type { judgingJob } from '#host/jobs/judgeTrials.ts'
import type { precisionJob } from '#host/jobs/precisionJob.ts'
import type { teachingJob } from '#host/jobs/taught.ts'
import type { scoringJob } from '#host/jobs/textScoring.ts'
import type { throughputJob } from '#host/jobs/throughput.ts'
import type { workflowTrialJob } from '#host/jobs/workflowTrial.ts'
import type { completionJob, rowCompletionJob } from '#host/models/completionJobs.ts'
import type { tokenizerJob } from '#host/models/textQuestion.ts'
import type { Job, Perform } from '#host/processes/job.ts'
import type { trainingJob } from '#host/runs/trainingJob.ts'
import type { servingJob } from '#host/serving/servedProcess.ts'

type AnyJob =
  | typeof calibrationJob
  | typeof completionJob
  | typeof deviceListJob
  | typeof deviceSpeedJob
  | typeof deviceTestJob
  | typeof evaluationJob
  | typeof exportJob
  | typeof judgingJob
  | typeof precisionJob
  | typeof projectJob
  | typeof rowCompletionJob
  | typeof scoringJob
  | typeof servingJob
  | typeof teachingJob
  | typeof throughputJob
  | typeof tokenizerJob
  | typeof trainingJob
  | typeof workflowTrialJob

/** Loads the code of a job. */
type Load<Named> = () => Promise<
  Named extends Job<string, infer Input, infer Item, infer Order> ? Perform<Input, Item, Order> : never
>

export const performers: { readonly [Named in AnyJob as Named['name']]: Load<Named> } = {
  check: async () => (await import('./calibrating.ts')).calibrate,
  completion: async () => (await import('./completions.ts')).completeSideBySide,
  'device list': async () => (await import('./deviceList.ts')).listDevices,
  'device speed': async () => (await import('./deviceWork.ts')).measureDeviceSpeed,
  'device test': async () => (await import('./deviceWork.ts')).testDevice,
  evaluation: async () => (await import('./evaluating.ts')).evaluate,
  export: async () => (await import('./exporting.ts')).exportAndTell,
  judging: async () => (await import('./scoring.ts')).judgeInputs,
  'precision check': async () => (await import('./deviceWork.ts')).checkPrecisions,
  'project export': async () => {
    const { exportProject } = await import('#host/exchange/project/project.ts')
    return async (request, { say }) => say(await exportProject(request))
  },
  'row completion': async () => (await import('./completions.ts')).completeRows,
  scoring: async () => (await import('./scoring.ts')).scoreText,
  serving: async () => (await import('#host/serving/servedRequests.ts')).serveModel,
  teaching: async () => (await import('./answering.ts')).answerRows,
  throughput: async () => (await import('./deviceWork.ts')).measureThroughputs,
  tokenizer: async () => (await import('#host/models/textAnswers.ts')).answerAboutTexts,
  training: async () => (await import('./training.ts')).trainRun,
  'workflow trial': async () => (await import('./tryingWorkflow.ts')).tryWorkflow,
}

/** Calibration: every stage of a run takes one real step with one group, and the result is discarded. */
import { rmSync, statSync } from 'node:fs'
import path from 'node:path'
import type { Device } from '#shared/device.ts'
import type { ExperienceKind } from '#shared/experience.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { layerStates, stateBytes } from '#engine/models/layerStates.ts'
import { physicalCores } from '#engine/processor.ts'
import { watchMemory, type MemoryWatch } from '#engine/runtime/memory.ts'
import { calibrateStep, type Calibration } from '#rl/training/calibrate.ts'
import { estimateEvaluation, estimateStep, estimateTokens, evaluationsOf } from '#rl/training/stepEstimate.ts'
import { initialState } from '#rl/training/plan.ts'
import { shownSamples } from '#rl/training/samples.ts'
import { makeFolder } from '#host/files/atomic.ts'
import { saveCheckpoint } from '#host/models/checkpoints.ts'
import { openModelFolder, type ModelFolder } from '#host/models/modelFolder.ts'
import { resolveEnvironment } from '#host/code/resolveEnvironment.ts'
import { resolveAlgorithms } from '#host/code/resolveAlgorithms.ts'
import { RunJudges } from '#host/judges/runJudges.ts'
import { resolveRewards } from '#host/code/resolveRewards.ts'
import { resolveWorkflows } from '#host/code/resolveWorkflow.ts'
import type {
  CalibratedStage,
  CalibrationInput,
  CalibrationNews,
  calibrationPhases,
  CalibrationReport,
} from '#host/jobs/calibrationReport.ts'
import { maxRows, openTraining } from '#host/training/openTraining.ts'
import type { TrainedState } from '#host/training/recording.ts'
import { chooseRunDevice } from '#host/training/runDevice.ts'
import { readStages, type Stage } from '#host/training/stages.ts'
import type { Tools } from '#host/processes/job.ts'

let calibrations = 0

/** Ends with the report. Errors: as training. */
export async function calibrate(
  { config, cacheDirectory, consents }: CalibrationInput,
  { say }: Tools<CalibrationNews>,
): Promise<void> {
  // Stands in for the folder where a run would keep its own copy of reward code.
  const directory = path.join(cacheDirectory, `.calibration.${process.pid}.${++calibrations}.partial`)
  makeFolder(directory)
  let report: CalibrationReport
  try {
    await using algorithms = await resolveAlgorithms(config, directory)
    // Of what is behind an address a check asks no judge, only what generates or teaches.
    await using judges = new RunJudges({ folder: null, cacheDirectory, asksAddresses: false })
    await using rewards = await resolveRewards(config, directory, { consents, openJudge: judges.open })
    await using world = await resolveEnvironment(config, directory, { cacheDirectory, consents })
    const model = openModelFolder(config.model, config)
    await using workflows = await resolveWorkflows(config, directory)
    const stages = await readStages(config, model, {
      rewards: rewards.specs,
      environment: world.environment,
      algorithmById: algorithms.byId,
      workflows: workflows.all,
    })
    const { device, reason } = await chooseRunDevice({ config, model, cacheDirectory, before: null })
    const calibrated: CalibratedStage[] = []
    const meter = new MemoryMeter()
    for (const [index, stage] of stages.entries()) {
      const tell = (phase: Phase) => {
        meter.begin(phase)
        void say({ phase, stage: index, stages: stages.length })
      }
      const { heldBack, ...result } = await calibrateStage(
        { directory, stage, model, device, cacheDirectory, consents },
        tell,
      )
      meter.end(heldBack)
      calibrated.push(result)
    }
    report = {
      device: { kind: device.kind, reason },
      processor: { threads: device.threads, cores: physicalCores() },
      memory: meter.report(),
      stages: calibrated,
    }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
  await say({ report }) // whoever asked ends this process then
}

type Phase = (typeof calibrationPhases)[number]

/** Peaks of acting and of learning apart: a whole step acts with more completions at once than one group has. */
class MemoryMeter {
  #watch: MemoryWatch = watchMemory()
  #isLearning = false
  readonly #peaks = { acting: 0, learning: 0, expected: 0 }

  begin(phase: Phase): void {
    if ((phase === 'learning') !== this.#isLearning) this.#take()
    this.#isLearning = phase === 'learning'
  }

  /** The end of a stage. `heldBack`: bytes that its rollouts would have taken besides. */
  end(heldBack: number): void {
    this.#take()
    const { acting, learning, expected } = this.#peaks
    this.#peaks.expected = Math.max(expected, acting + heldBack, learning)
  }

  report(): CalibrationReport['memory'] {
    this.#watch.stop()
    const { acting, learning, expected: expectedBytes } = this.#peaks
    const anonymousBytes = Math.max(acting, learning)
    const totalBytes = Math.max(anonymousBytes, 1024 * process.resourceUsage().maxRSS)
    return { anonymousBytes, totalBytes, expectedBytes }
  }

  #take(): void {
    const { anonymousBytes } = this.#watch.stop()
    this.#watch = watchMemory()
    const kind = this.#isLearning ? 'learning' : 'acting'
    this.#peaks[kind] = Math.max(this.#peaks[kind], anonymousBytes)
  }
}

/**
 * Estimates the bytes of the key-value cache that a whole step needs beyond those of the one group that was tried: a step
 * generates more and longer rows at once.
 */
function heldBackBytes(
  { config: model }: ModelFolder,
  { rollout }: RunConfig,
  { measures }: Calibration,
): number {
  if (!measures.isActing) return 0
  const { longestPrompt, rowTokens, groupSize } = measures
  const rows = Math.min(maxRows, rollout.promptsPerStep * groupSize)
  const longest = Math.min(model.maxPositions, Math.max(rowTokens, longestPrompt + rollout.maxNewTokens))
  const bytes = (of: number, length: number) => stateBytes(layerStates(model), of, length)
  const held = Math.max(bytes(groupSize, rowTokens), bytes(rows, longestPrompt))
  return Math.max(0, Math.round(bytes(rows, longest) - held))
}

interface StageSetup {
  /** Folder used in place of the run's. */
  readonly directory: string
  readonly stage: Stage
  readonly model: ModelFolder
  readonly device: Device
  readonly cacheDirectory: string
  /** File of this machine's consents, as to keys of servers. */
  readonly consents: string
}

async function calibrateStage(
  setup: StageSetup,
  tell: (phase: Phase) => void,
): Promise<CalibratedStage & { readonly heldBack: number }> {
  const { directory, stage, model } = setup
  const { config, data } = stage.parts
  tell('loading')
  const begin = performance.now()
  await using training = await openTraining({ ...setup, name: path.basename(directory), begin: null })
  const loading = (performance.now() - begin) / 1000
  const opened = performance.now()
  const calibration = await calibrateStep(training.dependencies, maxRows, tell)
  const trying = (performance.now() - opened) / 1000
  const { measures, tooLong, trajectories } = calibration
  const row = data.places?.train[calibration.row] ?? calibration.row
  const { generating, scoring, forward, update } = measures.seconds
  const steps = stage.lastStep - stage.place.firstStep
  const evaluated = Math.min(data.heldOut.length, config.evaluation.rows ?? Infinity)
  const samples = samplesOf(calibration, row, stage.parts.code.algorithm.experience)
  return {
    steps,
    row,
    tooLong,
    teacher: stage.parts.model.teacher,
    needsRewards: stage.parts.code.algorithm.needs.rewards,
    samples,
    heldBack: heldBackBytes(model, config, calibration),
    promptTokens: Math.max(...trajectories.map(({ prompt }) => prompt.ids.length)),
    seconds: { loading, generating, scoring, learning: forward + update },
    warmUpSeconds: Math.max(0, trying - generating - scoring - forward - update),
    secondsPerStep: estimateStep(config, measures),
    tokensPerStep: estimateTokens(config, measures),
    evaluations: evaluated === 0 ? 0 : evaluationsOf(steps, config.evaluation.every),
    secondsPerEvaluation: evaluated === 0 ? 0 : estimateEvaluation(evaluated, measures),
    ...(await trySaving(directory, await training.state(), model)),
    logBytesPerStep: logBytes(config, samples, measures.rowTokens),
  }
}

/** Gives samples the number of their row: the group was made of one row alone, which has another number in the data. */
const samplesOf = (
  { trajectories }: Calibration,
  row: number,
  experience: ExperienceKind,
): CalibratedStage['samples'] =>
  shownSamples(trajectories, [], new Map()).map(({ arrays: _, advantage: _none, ...sample }, i) => ({
    ...sample,
    row,
    preference: experience === 'preferences' ? (i % 2 === 0 ? 'chosen' : 'rejected') : null,
  }))

/** A checkpoint is written for real, but for a copy of the model, which takes as long as its size tells. */
async function trySaving(
  directory: string,
  state: TrainedState,
  model: ModelFolder,
): Promise<Pick<CalibratedStage, 'checkpointBytes' | 'secondsPerCheckpoint'>> {
  const begin = performance.now()
  const trainer = { ...initialState }
  const checkpoint = { ...state, model: null, trainer, events: 0, reward: null, metrics: {} }
  const { sizeBytes } = await saveCheckpoint(directory, checkpoint)
  const seconds = (performance.now() - begin) / 1000
  const copied = state.model === null ? [] : model.weightFiles.map((file) => statSync(file).size)
  const checkpointBytes = copied.reduce((sum, bytes) => sum + bytes, sizeBytes)
  return { checkpointBytes, secondsPerCheckpoint: (seconds * checkpointBytes) / sizeBytes }
}

/** Per token: six arrays of four bytes, as base64 in the log and as they are in the history. */
const bytesPerToken = 6 * 4 * (4 / 3 + 1)
/** The numbers of a step, in log and history. */
const metricsBytes = 8000

function logBytes(
  { shownTrajectories, rollout }: RunConfig,
  samples: CalibratedStage['samples'],
  rowTokens: number,
): number {
  const texts = samples.reduce((sum, sample) => sum + JSON.stringify(sample).length, 0)
  const perSample = (2 * texts) / Math.max(samples.length, 1) + bytesPerToken * rowTokens
  const shown = Math.min(shownTrajectories, rollout.promptsPerStep * samples.length)
  return Math.round(metricsBytes + shown * perSample)
}

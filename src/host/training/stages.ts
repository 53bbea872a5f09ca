/** The stages of a run: the config of each, and where a resumed run continues. */
import type { TrainerState } from '#shared/events.ts'
import { stagesOf, type RunConfig } from '#shared/runConfig.ts'
import { scheduleById } from '#engine/optimizers/schedules.ts'
import type { AlgorithmById } from '#rl/algorithms/registry.ts'
import type {
  RunCode,
  Schedule,
  StagePlace,
  TrainDependencies,
  TrainedModel,
} from '#rl/training/dependencies.ts'
import type { LiveWorkflow, Workflow } from '#rl/rollout/workflow.ts'
import { countSteps, stageState } from '#rl/training/plan.ts'
import type { Checkpoint } from '#host/models/checkpoints.ts'
import { readRunData } from '#host/data/readDataSet.ts'
import type { ModelFolder } from '#host/models/modelFolder.ts'
import { readingLimit } from '#host/models/teacher.ts'
import { loadTokenizer } from '#host/models/tokenizerFolder.ts'
import type { AdapterStart } from './adapterStart.ts'
import { stopIdsOf } from '#host/models/completing.ts'

export interface TrainingStart {
  readonly checkpoint: Checkpoint
  /** The checkpoint is another run's. */
  readonly isFork: boolean
}

export interface Stage {
  readonly place: StagePlace
  /** Steps of the run completed when the stage ends. */
  readonly lastStep: number
  /** Longest sequence, of the model and of a teacher that reads less. */
  readonly contextLength: number
  /** Parts without the policy. */
  readonly parts: StageParts
}

interface StageParts extends Pick<TrainDependencies, 'config' | 'data' | 'code'> {
  readonly model: Pick<TrainedModel, 'tokenizer' | 'chatTemplate' | 'stopIds' | 'teacher'>
  readonly schedule: Pick<Schedule, 'learningRatesAt'>
}

/** State that a stage begins with; null: as its config says. */
export type StageBeginning = {
  readonly state: TrainerState
  /** The state of the run inside the stage. */
  readonly start: TrainingStart | null
  /** The policy the stage before ended with. */
  readonly adapter: AdapterStart | null
} | null

/** Code that a config names, loaded. */
export interface LoadedCode extends Required<Pick<RunCode, 'rewards' | 'environment'>> {
  readonly algorithmById: AlgorithmById
  /** One for each stage; null where it has none. */
  readonly workflows: readonly (Workflow | LiveWorkflow | null)[]
}

/** Cheap, and wrong configs end here before weights are touched. Errors: AppError 'config/invalid', 'data/invalid', 'file/…'. */
export async function readStages(
  config: RunConfig,
  model: ModelFolder,
  { rewards, environment, algorithmById, workflows }: LoadedCode,
): Promise<readonly Stage[]> {
  const text = loadTokenizer(model.directory)
  const stopIds = stopIdsOf(model, text)
  const read = await Promise.all(
    stagesOf(config).map(async (own, index): Promise<Pick<Stage, 'parts' | 'contextLength'>> => {
      const data = await readRunData(own.data)
      const algorithm = algorithmById(own.algorithm.id).configure(own.algorithm.settings)
      const { contextLength, teacher } = readingLimit(own, algorithm, model.config)
      const parts = {
        config: own,
        data,
        model: { ...text, stopIds, teacher },
        code: { algorithm, rewards, environment, workflow: workflows[index] ?? null },
        schedule: { learningRatesAt: scheduled(own) },
      }
      return { parts, contextLength }
    }),
  )
  const lengths = read.map(({ parts, contextLength }) =>
    countSteps({ ...parts, model: { ...parts.model, policy: { contextLength } } }),
  )
  const steps = lengths.reduce((sum, length) => sum + length, 0)
  return read.map((stage, index) => {
    const firstStep = lengths.slice(0, index).reduce((sum, length) => sum + length, 0)
    const place = { index, firstStep, steps, isLast: index === read.length - 1 }
    return { ...stage, place, lastStep: firstStep + (lengths[index] ?? 0) }
  })
}

function scheduled({ optimization }: RunConfig): Schedule['learningRatesAt'] {
  const { learningRate, criticLearningRate, warmupProportion } = optimization
  const schedule = scheduleById(optimization.schedule)
  return (update, updates) => {
    const plan = { totalSteps: updates, warmupProportion }
    return {
      actor: schedule.at(update, learningRate, plan),
      critic: schedule.at(update, criticLearningRate ?? learningRate, plan),
    }
  }
}

interface NextStage {
  readonly stage: Stage
  readonly begin: StageBeginning
}

/** The first one, the one a checkpoint is of, or, where that one was over, the one after it. */
export function beginStage(stages: readonly Stage[], start: TrainingStart | null): NextStage | null {
  if (start === null) return atIndex(stages, 0, null)
  const { lora, baseModel, actor, trainer: saved } = start.checkpoint
  // A fork may have fewer stages than its parent.
  const trainer = { ...saved, stage: Math.min(saved.stage, stages.length - 1) }
  const stage = stages[trainer.stage]
  const isOver = stage !== undefined && !stage.place.isLast && trainer.step >= stage.lastStep
  if (isOver)
    return nextStage(stages, trainer, { lora, baseModel, tensors: actor, critic: null, warnings: [] })
  return atIndex(stages, trainer.stage, { state: trainer, start, adapter: null })
}

/** Returns the stage after that of `state`; null after the last one. */
export function nextStage(
  stages: readonly Stage[],
  state: TrainerState,
  adapter: AdapterStart,
): NextStage | null {
  const index = state.stage + 1
  return atIndex(stages, index, { state: stageState(state, index), start: null, adapter })
}

function atIndex(stages: readonly Stage[], index: number, begin: StageBeginning): NextStage | null {
  const stage = stages[index]
  return stage === undefined ? null : { stage, begin }
}

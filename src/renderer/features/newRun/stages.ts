/** Consecutive trainings of one run, as listed in the config file. */
import { isObject, valueAt, withValue, type JsonObject } from '#shared/config/paths.ts'

export type Stage = JsonObject

export const stagesOf = (config: JsonObject): readonly Stage[] => {
  const { stages } = config
  return Array.isArray(stages) ? stages.filter(isObject) : []
}

export const withStages = (config: JsonObject, stages: readonly Stage[]): JsonObject =>
  withValue(config, 'stages', stages.length === 0 ? undefined : stages)

export const withStage = (stages: readonly Stage[], index: number, stage: Stage): Stage[] =>
  stages.map((each, i) => (i === index ? stage : each))

export function movedStage(stages: readonly Stage[], from: number, to: number): Stage[] {
  const stage = stages[from]
  if (stage === undefined || to < 0 || to >= stages.length) return [...stages]
  return stages.toSpliced(from, 1).toSpliced(to, 0, stage)
}

/** New stage with a length of its own, since each stage would otherwise take all steps of the run. */
export const newStage = (algorithm: string, name: string, steps: number): Stage => ({
  name,
  algorithm: { id: algorithm },
  steps,
})

export interface StagePlan {
  readonly id: string
  readonly title: string
  readonly description: string
  readonly stages: readonly { readonly name: string; readonly algorithm: string }[]
}

export const stagePlans: readonly StagePlan[] = [
  {
    id: 'sft-rl',
    title: 'Answers, then rewards',
    description: 'SFT teaches the form of the answer, rewards its content.',
    stages: [
      { name: 'answers', algorithm: 'sft' },
      { name: 'rewards', algorithm: 'grpo' },
    ],
  },
  {
    id: 'sft-dpo-rl',
    title: 'Answers, preferences, rewards',
    description: 'SFT, then DPO on pairs, then rewards. Each stage may have its own rows.',
    stages: [
      { name: 'answers', algorithm: 'sft' },
      { name: 'preferences', algorithm: 'dpo' },
      { name: 'rewards', algorithm: 'grpo' },
    ],
  },
]

export const plannedStages = ({ stages }: StagePlan, steps: number): Stage[] =>
  stages.map(({ name, algorithm }) =>
    newStage(algorithm, name, Math.max(1, Math.round(steps / stages.length))),
  )

export const algorithmOf = (config: JsonObject): string => {
  const id = valueAt(config, 'algorithm.id')
  return typeof id === 'string' ? id : 'grpo'
}

/** Algorithms of the run, or of its stages if it has any. */
export function algorithmsOf(config: JsonObject): string[] {
  const stages = stagesOf(config)
  return stages.length === 0
    ? [algorithmOf(config)]
    : stages.map((stage) => algorithmOf({ ...config, ...stage }))
}

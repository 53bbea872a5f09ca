/** Stages of a run: what each of them does differently from the rest of the file. */
import { z } from 'zod'
import {
  algorithmSection,
  dataSection,
  evaluationSection,
  mostSteps,
  optimizationSection,
  referenceSection,
  rolloutSection,
  wholeNumber,
} from './configSections.ts'

/** The same keys, none of them needed and none filled in: what is not said is as in the rest of the file. */
function asChanges(section: z.ZodObject): z.ZodObject {
  const shape = Object.entries(section.shape).map(([name, field]) => [
    name,
    withoutDefault(field as z.ZodType),
  ])
  return z.strictObject(Object.fromEntries(shape) as Record<string, z.ZodType>)
}

function withoutDefault(field: z.ZodType): z.ZodType {
  const isFilledIn = field instanceof z.ZodDefault || field instanceof z.ZodPrefault
  const bare: z.ZodType = isFilledIn ? (field.unwrap() as z.ZodType) : field
  const optional: z.ZodType = bare.optional()
  return field.description === undefined ? optional : optional.describe(field.description)
}

export const stageSchema = z.strictObject({
  name: z.string().min(1).optional().describe('What the stage is called.'),
  data: asChanges(dataSection).optional().describe('Rows of the stage.'),
  algorithm: algorithmSection.optional().describe('How the policy learns; settings begin anew.'),
  rollout: asChanges(rolloutSection).optional().describe('How completions are generated.'),
  reference: asChanges(referenceSection).optional().describe('What the policy is kept close to.'),
  optimization: asChanges(optimizationSection).optional().describe('How parameters are updated.'),
  evaluation: asChanges(evaluationSection).optional().describe('Evaluation on the validation split.'),
  steps: wholeNumber(1, mostSteps)
    .nullable()
    .optional()
    .describe('Length of the stage in steps; null: as many as `passes` need.'),
  passes: z
    .number()
    .positive()
    .max(1_000_000)
    .optional()
    .describe('Passes over its training rows when `steps` is null.'),
})

export type StageChanges = z.output<typeof stageSchema>

/** A config with what a stage changes, to be checked as a whole. */
export function mergeStage(config: Readonly<Record<string, unknown>>, stage: StageChanges): object {
  const { name: _, algorithm, steps, passes, ...sections } = stage
  const merged = Object.entries(sections).map(
    ([section, changes]) => [section, { ...(config[section] as object), ...(changes as object) }] as const,
  )
  return {
    ...config,
    ...Object.fromEntries(merged),
    ...(algorithm === undefined ? {} : { algorithm }),
    ...(steps === undefined ? {} : { steps }),
    ...(passes === undefined ? {} : { passes }),
    // Its own passes are what a stage is long, whatever the rest of the file says of steps.
    ...(passes !== undefined && steps === undefined ? { steps: null } : {}),
  }
}

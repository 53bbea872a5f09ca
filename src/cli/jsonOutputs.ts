/**
 * Everything that commands print with `--json`: a document, or several with a line each. Written once: the help names the fields, docs/json.md has
 * all of it (`npm run docs:api`), and tests hold what commands print against it.
 */
import { z } from 'zod'
import { api } from '#shared/api/api.ts'
import { calibration } from '#shared/api/calibration.ts'
import { count, failure, instant, keyUse, problem, row } from '#shared/api/common.ts'
import { evaluatedPrompt } from '#shared/api/evaluations.ts'
import { adapterSummary } from '#shared/api/models.ts'
import { runEntry, runRecord } from '#shared/runs.ts'

const { runs, evaluations, studies, checkpoints, models, system, hub, workflows, losses, python } = api

const text = z.string()
const flag = z.boolean()
const number = z.number()
const optionalText = text.nullable()
const object = z.looseObject({})
const listOf = <Item extends z.ZodType>(item: Item) => z.array(item)

const evaluation = evaluations.get.output
const grouped = { by: text.optional(), groups: evaluations.groups.output.shape.groups.optional() }
const study = studies.get.output
const chosen = { trial: count, step: count, fitness: number }
const exported = checkpoints.export.output.options[1].shape.result
const pushed = hub.push.output.options[1].shape.result
const project = runs.exportProject.output

/** A run that begins; its events follow, as in its event log. */
const begun = z.object({ at: instant, type: z.literal('run'), id: text, directory: text })
const event = z.looseObject({ type: text, at: instant })
const training = z.union([begun, event])

const consent = { at: instant }
const withdrawn = z.object({ withdrawn: count })
const code = listOf(z.object({ id: text.optional(), title: text, versions: count.nullable(), file: text }))
/** Error of a run’s process, which may have a command to type, problems of the config, or a stack with it. */
const error = failure.partial({ hint: true }).loose().nullable()
const checkpoint = z.object({
  step: count,
  reward: number.nullable(),
  metrics: z.record(text, number),
  sizeBytes: count,
  directory: text,
})
const model = object.extend({ name: text, directory: text, architecture: text, parameters: count })
const dataSet = object.extend({ id: text, name: text, rows: count, directory: text })
const device = object.extend({ kind: text, available: flag })
const finding = system.selftest.output.shape.finding
const probe = object.extend({ probe: text, algorithm: text, seed: count, passed: flag, seconds: number })
const fault = z.object({ name: text, fault: object.nullable() })

/** Schemas by the command’s name. */
export const jsonOutputs: Readonly<Record<string, z.ZodType>> = {
  demo: z.object({
    algorithm: text,
    seed: count,
    steps: count,
    rewardBefore: number.nullable(),
    rewardAfter: number.nullable(),
    seconds: number,
    adapterDir: text,
    runId: text,
  }),
  train: z.union([training, calibration]),
  collect: training,
  run: training,
  resume: training,
  fork: training,
  app: z.object({ url: text }),
  serve: z.union([z.object({ url: text }), z.object({ address: text, key: text, model: text })]),
  mcp: withdrawn,
  'runs list': z.object({
    runs: listOf(runEntry.extend({ error })),
    families: listOf(object.extend({ name: text, runIds: listOf(text), count, step: count })),
    unreadable: listOf(z.object({ directory: text, message: text, hint: optionalText })),
  }),
  'runs show': runRecord.extend({
    config: object,
    error,
    checkpoints: listOf(checkpoint),
    damagedCheckpoints: listOf(z.object({ step: count, directory: text, problem: text })),
  }),
  'runs diagnose': runs.diagnosis.output.extend({ runId: text }),
  'runs compare': runs.compare.output,
  'runs report': z.object({ runs: listOf(text), file: text }),
  'runs export': z.object({ run: text, format: z.enum(['json', 'csv']), file: text }),
  'runs import': z.object({ run: text }),
  'runs project': project,
  'runs delete': z.object({
    run: text,
    deleted: flag,
    forGood: flag,
    files: runs.files.output,
    sizeBytes: count,
  }),
  'runs restore': z.object({ run: text, restored: z.literal(true) }),
  'runs trash': z.object({ runs: runs.trash.output, freedBytes: count }),
  'runs recover': z.object({
    recoveredFile: text,
    damagedFile: text,
    rowsByTable: z.record(text, count),
    lost: listOf(text),
  }),
  evaluate: evaluation.extend(grouped),
  'evaluations list': z.object({ evaluations: listOf(evaluation) }),
  'evaluations show': evaluation.extend({ ...grouped, prompts: listOf(evaluatedPrompt) }),
  'evaluations compare': evaluations.compare.output.extend({ a: text, b: text }),
  'evaluations resume': evaluation.extend(grouped),
  'evaluations delete': z.object({ evaluation: text, deleted: z.literal(true) }),
  sweep: z.union([study, studies.calibrate.output.options[1].shape.result]),
  population: z.union([study, studies.calibrate.output.options[1].shape.result]),
  seeds: z.union([study, studies.calibrate.output.options[1].shape.result]),
  'studies list': z.object({ studies: listOf(study), unreadable: studies.list.output.shape.unreadable }),
  'studies show': study.extend({ importance: studies.importance.output }),
  'studies resume': study,
  'studies promote': adapterSummary,
  'studies export': z.union([
    z.object({ ...chosen, format: z.literal('turnwise'), config: object, file: optionalText }),
    project.extend({ ...chosen, format: z.enum(['trl', 'agilerl']) }),
    z.object({ format: z.literal('wandb'), document: object, lost: listOf(text), file: optionalText }),
  ]),
  'studies delete': z.object({ study: text, deleted: z.literal(true) }),
  export: z.union([exported.extend({ checkpoint: text, passed: flag }), pushed]),
  chat: z.object({ text, seed: count, stopReason: text }),
  generate: z.object({
    completions: listOf(object.extend({ sample: count, text, stopReason: text })),
  }),
  score: z.object({ output: text, sequences: count }),
  grad: z.object({ output: text, tensors: count }),
  'config import': z.object({
    ...runs.importConfig.output.omit({ taken: true }).shape,
    warnings: listOf(problem),
    file: optionalText,
  }),
  'loss list': code,
  'loss check': losses.check.output.omit({ batch: true }).extend({ checks: listOf(fault) }),
  'workflow list': code,
  'workflow check': z.object({ settings: listOf(object) }),
  'workflow try': workflows.try.output,
  'python allow': python.review.output,
  'python list': listOf(z.object({ interpreter: text, path: text, sha256: text, ...consent })),
  'python withdraw': withdrawn,
  'key allow': listOf(keyUse),
  'key list': listOf(keyUse.extend(consent)),
  'key withdraw': withdrawn,
  'model import': model,
  'model list': z.object({ models: listOf(object) }),
  'model search': hub.search.output,
  'model check': z.object({ effects: listOf(models.precision.output) }),
  'model random': model,
  'dataset import': dataSet.extend({
    isNew: flag,
    columns: listOf(text),
    notes: listOf(text),
    shape: object,
  }),
  'dataset list': z.object({ datasets: listOf(object) }),
  'dataset show': dataSet.extend({
    columns: listOf(object),
    shape: object,
    promptLengths: object.nullable(),
    firstRows: listOf(row),
  }),
  'dataset answer': object.extend({ id: text, name: text, directory: text, problems: count }),
  'dataset labels': dataSet,
  'device list': z.object({ devices: listOf(device), cudaLibrary: object }),
  'device check': object.extend({ device: text }),
  'device measure': object.extend({ device: text }),
  'device plan': object.extend({ shape: text, memory: number, base: text, device: text, fits: flag }),
  'device report': z.object({ file: text, report: object }),
  'device install': object.extend({ index: text, isInstalled: flag, device: device.optional() }),
  'device remove': z.object({ freedBytes: count }),
  selftest: z.object({ passed: flag, findings: listOf(finding) }),
  probe: z.union([probe, z.object({ passed: flag, reports: listOf(probe) })]),
  bench: object.extend({ shape: text, device: text, threads: count, matmulPeakGflops: number }),
  telemetry: z.object({ files: listOf(text), removed: count }),
}

/** Names the fields of a command’s documents, for its help; those of alternatives one after the other. */
export function jsonFields(command: string): string {
  const schema = jsonOutputs[command]
  const fields = (each: unknown): string => {
    if (each instanceof z.ZodUnion) return each.options.map(fields).join(' or ')
    if (each instanceof z.ZodArray) return `a list of ${fields(each.element)}`
    return each instanceof z.ZodObject ? Object.keys(each.shape).join(', ') : 'one document'
  }
  return fields(schema)
}

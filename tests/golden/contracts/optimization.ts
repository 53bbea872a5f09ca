/** Optimizer and learning-rate schedule. */
import { adamw } from '#engine/optimizers/adamw.ts'
import { HostNumbers } from '#engine/runtime/hostNumbers.ts'
import { cosineSchedule } from '#engine/optimizers/schedules.ts'
import { asList, asNumber, asNumbers, exact, type Json, type JsonObject, single } from '../contract.ts'

function cosine(inputs: JsonObject, { expected }: { expected: JsonObject }): unknown {
  const plan = {
    totalSteps: asNumber(inputs.num_epochs),
    warmupProportion: asNumber(inputs.warmup_proportion),
    literalZeroWarmup: true,
  }
  const steps = asList(expected.lr_at_step).length
  const rate = (step: number) => cosineSchedule.at(step, asNumber(inputs.max_lr), plan)
  return { lr_at_step: Array.from({ length: steps }, (_, step) => rate(step)) }
}

/** The two parameter groups of the case lie one after the other in one flat array, as in the engine. */
async function adamwSteps(inputs: JsonObject): Promise<unknown> {
  const groups = asList(inputs.params)
  const start = groups.map(flat)
  const lengths = start.map((group) => group.length)
  const ranges = lengths.map((length, g) => {
    const begin = lengths.slice(0, g).reduce((sum, other) => sum + other, 0)
    return { start: begin, end: begin + length }
  })
  const rates = asNumbers(inputs.lrs)
  const [beta1 = 0.9, beta2 = 0.999] = asNumbers(inputs.betas)
  const settings = { beta1, beta2, epsilon: asNumber(inputs.eps), weightDecay: asNumber(inputs.weight_decay) }
  const parameters = Float32Array.from(start.flat())
  const gradients = new Float32Array(parameters.length)
  const [first, second] = [new Float32Array(parameters.length), new Float32Array(parameters.length)]
  const arrays = { values: parameters, gradients, first, second }
  const trained = ranges.map(({ start: from, end }, g) => {
    const own = Object.entries(arrays).map(([name, array]) => [name, array.subarray(from, end)] as const)
    return { numbers: [new HostNumbers(Object.fromEntries(own) as typeof arrays)], learningRate: rates[g]! }
  })
  const steps: { norms: number[]; parameters: number[][] }[] = []
  for (const [index, given] of asList(inputs.grads_per_step).entries()) {
    gradients.set(asList(given).flatMap(flat))
    const task = { groups: trained, step: index + 1, maxGradNorm: asNumber(inputs.max_grad_norm) }
    const norms = await adamw.step(task, settings)
    const after = ranges.map(({ start: from, end }) => [...parameters.subarray(from, end)])
    steps.push({ norms, parameters: after })
  }
  const shapes = groups.map((group) => asList(group).map((row) => (Array.isArray(row) ? row.length : null)))
  return {
    grad_norms_per_step: steps.map(({ norms }) => norms),
    params_per_step: steps.map((step) => step.parameters.map((values, g) => shaped(values, shapes[g]!))),
  }
}

const flat = (value: Json): number[] =>
  asList(value).flatMap((item) => (Array.isArray(item) ? flat(item) : [Number(item)]))

/** Rows of the given widths; a null width is a bare number. */
function shaped(values: readonly number[], widths: readonly (number | null)[]): unknown[] {
  let next = 0
  return widths.map((width) => {
    const row = values.slice(next, next + (width ?? 1))
    next += width ?? 1
    return width === null ? row[0] : row
  })
}

export const optimizationContracts = {
  adamw_step: single(adamwSteps),
  cosine_lr_schedule: exact(cosine),
}

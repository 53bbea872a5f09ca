/** Custom losses as the sandbox reports them: the description in the code, and the recorded program. */
import { z } from 'zod'
import { maxLikeliest } from './config/settings.ts'
import {
  advantageNeeds,
  type InputName,
  type Level,
  levels,
  lossInputs,
  lossOperations,
  mostOperations,
  operationsOf,
} from './lossLanguage.ts'

/** Outputs of the learning policy, with respect to which the loss has a gradient. */
export const headNames = ['logp', 'entropy', 'values', 'topLogp'] as const
export type HeadName = (typeof headNames)[number]

/** Largest number of terms, and of metrics, of a loss. */
const mostResults = 100

const index = z.int().min(0)
const per = z.enum(levels)
const inputNames = Object.keys(lossInputs) as InputName[]
const entrywiseOps = operationsOf('infix', 'prefix', 'function', 'held', 'extreme', 'range', 'choice')
const reductions = operationsOf('reduction')
const halves = operationsOf('half')

const nodeSchema = z.discriminatedUnion('op', [
  z.object({ op: z.literal('number'), per, of: z.tuple([]), value: z.string() }),
  z.object({ op: z.literal('input'), per, of: z.tuple([]), value: z.enum(inputNames) }),
  z.object({ op: z.enum(entrywiseOps), per, of: z.array(index).min(1).max(3) }),
  /** Values, and a mask of those that count. */
  z.object({ op: z.enum(reductions), per, of: z.array(index).min(1).max(2) }),
  z.object({ op: z.enum(halves), per, of: z.tuple([index]) }),
])
export type LossNode = z.output<typeof nodeSchema>

const weightSchema = z.union([z.literal('tokens'), z.literal('sequences'), index])
/** Weight of a part of a minibatch: its number of action tokens, of sequences, or the value of an operation. */
export type LossWeight = z.output<typeof weightSchema>

const programSchema = z
  .object({
    /** Operations in topological order. */
    nodes: z.array(nodeSchema).max(mostOperations),
    /** Terms whose sum is the loss, each a mean weighted by its weight. */
    terms: z
      .array(z.object({ loss: index, weight: weightSchema }))
      .min(1)
      .max(mostResults),
    metrics: z
      .record(z.string().regex(/^[\w/.-]{1,60}$/), index)
      .refine((metrics) => Object.keys(metrics).length <= mostResults, 'too many metrics'),
  })
  .refine(({ nodes }) => nodes.every(({ of }, i) => of.every((k) => k < i)), {
    error: 'operands come first',
    abort: true,
  })
  .refine(({ nodes }) => nodes.every((node) => isSound(node, nodes)), 'levels go together')
  .refine(
    ({ nodes, terms, metrics }) =>
      [...terms.flatMap(({ loss, weight }) => [loss, weight]), ...Object.values(metrics)].every(
        (k) => typeof k === 'string' || nodes[k]?.per === 'batch',
      ),
    'results are numbers',
  )
export type LossProgram = z.output<typeof programSchema>

/** Checks levels and operands: code shares its realm with the recorder, so that a record may claim anything. */
function isSound(node: LossNode, nodes: readonly LossNode[]): boolean {
  const of = node.of.flatMap((k) => nodes[k]?.per ?? [])
  switch (node.op) {
    case 'number':
      return node.per === 'batch' && !Number.isNaN(Number(node.value))
    case 'input':
      return node.per === lossInputs[node.value].per
    default:
      return isSoundOperation(node, of)
  }
}

function isSoundOperation(
  node: Exclude<LossNode, { op: 'number' | 'input' }>,
  of: readonly Level[],
): boolean {
  const operation = lossOperations[node.op]
  const [first = 'batch'] = of
  if (operation.form === 'half') return node.per === 'pair' && first === 'sequence'
  if (operation.form === 'reduction') return [node.per, ...of].every((level) => isWithin(first, level))
  return of.length === operation.of && isFinest(node.per, of)
}

/** True if a level is the finest of these: a value per token and one per position make one per token. */
const isFinest = (level: Level, of: readonly Level[]): boolean =>
  of.every((each) => isWithin(level, each)) && of.includes(level)

const ranks: Partial<Record<Level, number>> = { group: 1, sequence: 2, turn: 3, token: 4, alternative: 5 }

/** True if every value of `fine` belongs to one of `coarse`. */
const isWithin = (fine: Level, coarse: Level): boolean =>
  fine === coarse ||
  coarse === 'batch' ||
  (fine === 'token' && coarse === 'position') ||
  (ranks[fine] ?? 0) > (ranks[coarse] ?? 6)

/** Parses output of the sandbox; null if it is not a program. */
export function readProgram(json: unknown): LossProgram | null {
  const result = programSchema.safeParse(json)
  return result.success ? result.data : null
}

// ---- description in the code ----

const plain = z.union([z.number(), z.string(), z.boolean()])

export const lossDescriptionSchema = z.object({
  title: z.string().max(80).optional(),
  description: z.string().max(400).optional(),
  source: z.string().max(200).optional(),
  experience: z.enum(['rollout', 'demonstrations', 'preferences']).default('rollout'),
  groupSize: z.int().min(1).max(1024).optional(),
  topK: z.int().min(1).max(maxLikeliest).default(32),
  needs: z.array(z.enum(advantageNeeds)).default([]),
  /** Algorithm whose advantages it uses, with settings of that; null: its own, or GRPO's. */
  like: z.object({ algorithm: z.string(), settings: z.record(z.string(), z.unknown()) }).nullable(),
  settings: z.record(
    z.string(),
    z.object({
      default: plain.nullable(),
      minimum: z.number().optional(),
      maximum: z.number().optional(),
      integer: z.boolean().optional(),
      options: z.array(z.string()).min(1).optional(),
      description: z.string().max(400).optional(),
    }),
  ),
})
export type LossDescription = z.output<typeof lossDescriptionSchema>

// ---- checks before training ----

/** Checks in the order in which an earlier failure explains later ones. */
export const lossCheckNames = [
  'not-finite',
  'no-gradient',
  'severed-gradient',
  'sign',
  'padding',
  'row-order',
  'micro-batches',
  'gradient',
] as const
export type LossCheckName = (typeof lossCheckNames)[number]

/** Statement that holds if a check passes. */
export const lossCheckWords: Readonly<Record<LossCheckName, string>> = {
  'not-finite': 'Loss and gradient are finite, even at a ratio of 0 or 10¹³',
  'no-gradient': 'The loss has a gradient',
  'severed-gradient': 'Tokens that the loss depends on get a gradient, for advantages of both signs',
  sign: 'The gradient makes good tokens more likely and bad ones less likely',
  padding: 'Padding has no effect',
  'row-order': 'The order of rows has no effect',
  'micro-batches': 'Splitting a minibatch into micro-batches has no effect',
  gradient: 'The gradient agrees with central differences',
}

// ---- custom advantages ----

const numbers = z.union([z.number(), z.array(z.number())])
/** One advantage per row: for all its tokens or for each, with the critic's target; null leaves the row out. */
export const advantagesSchema = z.array(
  z.union([numbers, z.null(), z.object({ advantages: numbers, returns: numbers.nullish() })]),
)

// ---- curves of a loss ----

/** Axes: importance ratio of a token, margin of the chosen answer (nats), or log-probability of a given token. */
export const lossAxes = ['ratio', 'margin', 'logp'] as const
export type LossAxis = (typeof lossAxes)[number]

/** Losses that people write, as the sandbox tells of them: what code says of itself, and the program that it records. */
import { z } from 'zod'
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

/** Of the policy that learns; the loss has a gradient with respect to these. */
export const headNames = ['logp', 'entropy', 'values'] as const
export type HeadName = (typeof headNames)[number]

/** Most terms and metrics of a loss. */
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
  /** Values, and which of them count. */
  z.object({ op: z.enum(reductions), per, of: z.array(index).min(1).max(2) }),
  z.object({ op: z.enum(halves), per, of: z.tuple([index]) }),
])
export type LossNode = z.output<typeof nodeSchema>

const weightSchema = z.union([z.literal('tokens'), z.literal('sequences'), index])
/** What a part of a minibatch counts with: its action tokens, its sequences, or what an operation says. */
export type LossWeight = z.output<typeof weightSchema>

const programSchema = z
  .object({
    /** Every operation after those it takes its operands from. */
    nodes: z.array(nodeSchema).max(mostOperations),
    /** The loss is the sum of these, each a mean over what its weight counts. */
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

/** Code shares its realm with what records it, so that a record may claim anything: levels and operands are checked here. */
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

/** A value per token and one per position make one per token. */
const isFinest = (level: Level, of: readonly Level[]): boolean =>
  of.every((each) => isWithin(level, each)) && of.includes(level)

const ranks: Partial<Record<Level, number>> = { group: 1, sequence: 2, turn: 3, token: 4 }

/** Every value of `fine` belongs to one of `coarse`. */
const isWithin = (fine: Level, coarse: Level): boolean =>
  fine === coarse ||
  coarse === 'batch' ||
  (fine === 'token' && coarse === 'position') ||
  (ranks[fine] ?? 0) > (ranks[coarse] ?? 5)

/** Whatever the sandbox says; null for what is no program. */
export function readProgram(json: unknown): LossProgram | null {
  const result = programSchema.safeParse(json)
  return result.success ? result.data : null
}

// ---- what code says of itself ----

const plain = z.union([z.number(), z.string(), z.boolean()])

/** What the code says of itself. */
export const lossDescriptionSchema = z.object({
  title: z.string().max(80).optional(),
  description: z.string().max(400).optional(),
  /** Paper. */
  source: z.string().max(200).optional(),
  experience: z.enum(['rollout', 'demonstrations', 'preferences']).default('rollout'),
  groupSize: z.int().min(1).max(1024).optional(),
  needs: z.array(z.enum(advantageNeeds)).default([]),
  /** The algorithm whose advantages it takes, with settings of that; null: its own, or GRPO's. */
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

// ---- what is looked at before anything is learned ----

/** In the order in which a fault explains what the later ones would say. */
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

/** What holds where a check finds nothing wrong. */
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

// ---- its own advantages ----

const numbers = z.union([z.number(), z.array(z.number())])
/** One for each row: of all its tokens or of each, with what the critic is to learn; null leaves the row out. */
export const advantagesSchema = z.array(
  z.union([numbers, z.null(), z.object({ advantages: numbers, returns: numbers.nullish() })]),
)

// ---- how a loss is drawn ----

/** Over the importance ratio of a token, the margin of the chosen answer (nats), or the log-probability of a given token. */
export const lossAxes = ['ratio', 'margin', 'logp'] as const
export type LossAxis = (typeof lossAxes)[number]

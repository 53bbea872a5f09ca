import { deviceKinds, deviceTitles, type DeviceKind } from '#shared/device.ts'
import { basePrecisions, rolloutPrecisions, type BasePrecision } from '#shared/precision.ts'
import {
  benchParts,
  type BenchLengths,
  type BenchReport,
  type BenchRequest,
} from '#host/checks/benchReport.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { plural } from '#shared/plural.ts'
import { defineCommand } from '../command.ts'
import { choice, choices, integer, integers, text, usageError } from '../options.ts'
import { tableLines } from '../output.ts'
import { findModel } from '#host/models/modelLibrary.ts'

export const bench = defineCommand({
  name: 'bench',
  summary: 'Measure how fast this machine generates and trains',
  positionals: [],
  options: {
    model: text('MODEL', 'model folder, or the name of an imported model'),
    shape: text(
      'NAME',
      'a shape filled with random weights, such as qwen2.5-0.5b or smol-30m (default smol-30m)',
    ),
    device: choice(deviceKinds, 'where to compute', 'cpu'),
    threads: integer('N', 'CPU threads (default: one per physical core)', { minimum: 1, maximum: 1024 }),
    batch: integers('rows decoded together', [1, 8, 16]),
    precision: choices(rolloutPrecisions, 'weights of the decoding policy'),
    base: choice(basePrecisions, 'weights of the frozen base, for training and decoding', 'f32'),
    only: text('PART,PART…', `of ${benchParts.join(', ')} (default: on the CPU the first three, else all)`),
    steps: integer('N', 'measured steps of each part', { minimum: 1, default: 3 }),
    lengths: text(
      'SPEC',
      'training rows: ROWSxTOKENS or ROWSxFROM-TO (default 8x256; 2x512 for qwen2.5-0.5b)',
    ),
    rank: integer('R', 'rank of the adapter; 0 generates with the base alone', {
      minimum: 0,
      maximum: 1024,
      default: 16,
    }),
    activations: choice(
      ['recompute', 'save'],
      'compute activations again in the backward pass, or keep them',
      'recompute',
    ),
  },
  async run({ options }, context) {
    const request = benchRequest(options, context.dataDirectory)
    const { runBench } = await import('#host/checks/bench.ts')
    const report = await runBench(request, { onProgress: context.output.note })
    context.output.json(report)
    for (const line of reportLines(report)) context.output.line(line)
  },
})

interface GivenOptions {
  readonly model: string | undefined
  readonly shape: string | undefined
  readonly device: DeviceKind
  readonly threads: number | undefined
  readonly batch: readonly number[]
  readonly precision: BenchRequest['precisions']
  readonly base: BasePrecision
  readonly only: string | undefined
  readonly steps: number
  readonly lengths: string | undefined
  readonly activations: BenchRequest['activations']
  readonly rank: number
}

export function benchRequest(options: GivenOptions, dataDirectory: string): BenchRequest {
  const { model, shape } = options
  if (model !== undefined && shape !== undefined)
    throw usageError('Give either --model or --shape, not both.')
  return {
    subject:
      model === undefined ? { shape: shape ?? 'smol-30m' } : { model: findModel(model, dataDirectory) },
    device: options.device,
    threads: options.threads ?? null,
    parts: partsOf(options),
    batches: options.batch,
    precisions: options.precision,
    base: options.base,
    steps: options.steps,
    lengths: parseLengths(options.lengths ?? (shape === 'qwen2.5-0.5b' ? '2x512' : '8x256')),
    activations: options.activations,
    rank: options.rank,
    cacheDirectory: dataFolders(dataDirectory).cache,
  }
}

function partsOf({ only, device }: Pick<GivenOptions, 'only' | 'device'>): BenchRequest['parts'] {
  if (only === undefined) return device === 'cpu' ? benchParts.slice(0, 3) : benchParts
  return only.split(',').map((given) => {
    const part = benchParts.find((name) => name === given.trim())
    if (part === undefined) throw usageError(`Option --only takes ${benchParts.join(', ')}, not “${given}”.`)
    return part
  })
}

/** `8x256`: 8 rows of 256 tokens; `8x32-512`: lengths drawn between. */
export function parseLengths(given: string): BenchLengths {
  const [, rows, from, to] = /^(\d{1,6})x(\d{1,7})(?:-(\d{1,7}))?$/.exec(given) ?? []
  const lengths = { rows: Number(rows), from: Number(from), to: Number(to ?? from) }
  const isValid = lengths.rows >= 1 && lengths.from >= 2 && lengths.to >= lengths.from
  if (isValid) return lengths
  throw usageError(
    `Option --lengths takes ROWSxTOKENS or ROWSxFROM-TO, not “${given}”.`,
    'For example 8x256 or 16x32-512.',
  )
}

const percent = (fraction: number): string => `${(fraction * 100).toFixed(0)} %`

export function reportLines(report: BenchReport): string[] {
  const { prefill, decode, train } = report
  const rows = [
    ...(prefill === undefined ? [] : [['prefill', '', '', rate(prefill.tokensPerSecond), '']]),
    ...(decode ?? []).map(({ batch, precision, tokensPerSecond }) => [
      'decode',
      `${batch}`,
      precision,
      rate(tokensPerSecond),
      '',
    ]),
    ...(train === undefined
      ? []
      : [['train', '', 'f32', rate(train.tokensPerSecond), percent(train.peakFraction)]]),
  ]
  const group =
    prefill === undefined
      ? []
      : [
          `A group of 8 reads its prompt in ${prefill.groupOfEight.toFixed(2)} times the time of one completion.`,
        ]
  const memory =
    train === undefined
      ? []
      : [
          `Counting only what is really computed: ${percent(train.computedPeakFraction)} of peak.`,
          `Memory of training: ${megabytes(train.anonymousBytes)} private, ${mapped(train.mappedBytes)}.`,
        ]
  return [
    titleOf(report),
    '',
    ...(rows.length === 0 ? [] : tableLines(['part', 'batch', 'weights', 'tokens/s', 'of peak'], rows)),
    ...group,
    ...memory,
    ...stepLines(report.step),
    ...parityLines(report.parity),
  ]
}

function titleOf({ shape, device, threads, matmulPeakGflops }: BenchReport): string {
  const place = device === 'cpu' ? plural(threads, 'thread') : deviceTitles[device]
  return `${shape} on ${place}; matmul peak ${matmulPeakGflops.toFixed(1)} GFLOP/s`
}

const stepLines = (step: BenchReport['step']): string[] =>
  step === undefined
    ? []
    : [
        `A GRPO step of ${plural(step.completions, 'completion')}, ${String(step.promptTokens)} tokens and ${String(step.newTokens)} new ones each: ${step.seconds.toFixed(2)} s, rollout ${step.rolloutSeconds.toFixed(2)}, update ${step.updateSeconds.toFixed(2)}.`,
      ]

const parityLines = (parity: BenchReport['parity']): string[] =>
  parity === undefined
    ? []
    : [
        `Beside the CPU: ${String(parity.sameTokens)} of ${String(parity.tokens)} greedy tokens the same, log-probabilities ${parity.logprobs.toExponential(1)} apart, gradients ${parity.gradient.toExponential(1)}.`,
      ]

const rate = (tokensPerSecond: number): string => tokensPerSecond.toFixed(tokensPerSecond < 100 ? 1 : 0)
const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`
const mapped = (bytes: number | null): string =>
  bytes === null ? 'mapped weights unknown' : `${megabytes(bytes)} mapped weights`

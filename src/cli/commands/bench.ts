/** `bench`: measures how fast this machine generates and trains. */
import { Command, Option } from '@commander-js/extra-typings'
import { deviceKinds, deviceTitles } from '#shared/device.ts'
import { usageError } from '#shared/errors.ts'
import { plural } from '#shared/plural.ts'
import { heldPrecisions, rolloutPrecisions } from '#shared/precision.ts'
import {
  benchParts,
  type BenchLengths,
  type BenchReport,
  type BenchRequest,
} from '#host/checks/benchReport.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { findModel } from '#host/models/modelLibrary.ts'
import { listOf, maxThreads, oneOf, threads, whole, type Context } from '../command.ts'
import { megabytes, tableLines } from '../output.ts'

export const bench = (context: Context) =>
  new Command('bench')
    .description('Measure how fast this machine generates and trains')
    .option('--model <MODEL>', 'model folder, or the name of an imported model')
    .option(
      '--shape <NAME>',
      'model shape with random weights, such as qwen2.5-0.5b or smol-30m (default smol-30m)',
    )
    .addOption(
      new Option('--device <KIND>', 'device to compute on').choices(deviceKinds).default('cpu' as const),
    )
    .option(...threads, whole(1, maxThreads))
    .option('--batch <NUMBERS>', 'rows decoded together, comma-separated', listOf(whole(1)), [1, 8, 16])
    .option(
      '--precision <PRECISIONS>',
      'weight precision of the decoding policy, comma-separated',
      listOf(oneOf(rolloutPrecisions)),
      rolloutPrecisions,
    )
    .addOption(
      new Option('--base <PRECISION>', 'weight precision of the frozen base, for training and decoding')
        .choices(heldPrecisions)
        .default('f32' as const),
    )
    .option(
      '--only <PARTS>',
      `comma-separated: ${benchParts.join(', ')} (default: the first three on the CPU, otherwise all)`,
      listOf(oneOf(benchParts)),
    )
    .option('--steps <N>', 'measured steps per part', whole(1), 3)
    .option(
      '--lengths <SPEC>',
      'training rows: ROWSxTOKENS or ROWSxFROM-TO (default 8x256; 2x512 for qwen2.5-0.5b)',
    )
    .option('--rank <R>', 'adapter rank; 0 generates with the base model alone', whole(0, 1024), 16)
    .addOption(
      new Option('--activations <HOW>', 'recompute activations going back, keep them, or as runs do')
        .choices(['auto', 'recompute', 'save'])
        .default('recompute' as const),
    )
    .action(async (options) => {
      const { dataDirectory, output } = context()
      const request = benchRequest(options, dataDirectory)
      const { runBench } = await import('#host/checks/bench.ts')
      const report = await runBench(request, { onProgress: output.note })
      output.json(report)
      for (const line of reportLines(report)) output.line(line)
    })

type GivenOptions = Omit<
  BenchRequest,
  'subject' | 'threads' | 'parts' | 'batches' | 'precisions' | 'lengths' | 'cacheDirectory'
> & {
  readonly model?: string | undefined
  readonly shape?: string | undefined
  readonly threads?: number | undefined
  readonly batch: readonly number[]
  readonly precision: BenchRequest['precisions']
  readonly only?: BenchRequest['parts'] | undefined
  readonly lengths?: string | undefined
}

export function benchRequest(options: GivenOptions, dataDirectory: string): BenchRequest {
  const { model, shape = 'smol-30m', device, base, steps, activations, rank } = options
  const { threads: count = null, batch: batches, precision: precisions } = options
  if (model !== undefined && options.shape !== undefined)
    throw usageError('Give either --model or --shape, not both.')
  return {
    device,
    batches,
    precisions,
    base,
    steps,
    activations,
    rank,
    threads: count,
    subject: model === undefined ? { shape } : { model: findModel(model, dataDirectory) },
    parts: options.only ?? (device === 'cpu' ? benchParts.slice(0, 3) : benchParts),
    lengths: parseLengths(options.lengths ?? (shape === 'qwen2.5-0.5b' ? '2x512' : '8x256')),
    cacheDirectory: dataFolders(dataDirectory).cache,
  }
}

/** Parses `8x256`, 8 rows of 256 tokens, or `8x32-512`, lengths drawn in between. */
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
          `A group of 8 prefills its prompt in ${prefill.groupOfEight.toFixed(2)} times the time of one completion.`,
        ]
  const memory =
    train === undefined
      ? []
      : [
          `Counting only what is actually computed: ${percent(train.computedPeakFraction)} of peak.`,
          `Training memory: ${megabytes(train.anonymousBytes, 0)} private, ${mapped(train.mappedBytes)}.`,
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
        `A GRPO step of ${plural(step.completions, 'completion')}, ${String(step.promptTokens)} prompt tokens and ${String(step.newTokens)} new tokens each: ${step.seconds.toFixed(2)} s, rollout ${step.rolloutSeconds.toFixed(2)}, update ${step.updateSeconds.toFixed(2)}.`,
      ]

const parityLines = (parity: BenchReport['parity']): string[] =>
  parity === undefined
    ? []
    : [
        `Compared with the CPU in ${parity.reference}: ${String(parity.sameTokens)} of ${String(parity.tokens)} greedy tokens equal, log-probabilities differ by ${parity.logprobs.toExponential(1)}, gradients by ${parity.gradient.toExponential(1)}.`,
      ]

const rate = (tokensPerSecond: number): string => tokensPerSecond.toFixed(tokensPerSecond < 100 ? 1 : 0)
const mapped = (bytes: number | null): string =>
  bytes === null ? 'mapped weights unknown' : `${megabytes(bytes, 0)} mapped weights`

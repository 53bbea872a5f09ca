/** `device plan`: GPU memory and bus traffic that a model needs. */
import { Command, Option } from '@commander-js/extra-typings'
import { deviceKinds } from '#shared/device.ts'
import { basePrecisions } from '#shared/precision.ts'
import { planCard, plannedConfig, plannedShapes, type CardPlan } from '#host/devices/devicePlan.ts'
import { real, whole, type Context } from '../command.ts'

const usualLength = 1024

const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(2)} GB`

export const plan = (context: Context) =>
  new Command('plan')
    .description(
      'Calculate what training a model needs of a GPU’s memory, and how it is cut to fit.\n\nNothing is downloaded or run: the numbers follow from the programs that would run. The exit status is 0 also where it does not fit: --json has `fits`.',
    )
    .addOption(
      new Option(
        '--shape <NAME>',
        `${plannedShapes.join(', ')}, a model folder or its config.json`,
      ).makeOptionMandatory(),
    )
    .addOption(
      new Option(
        '--memory <GiB>',
        'memory of the GPU, in GiB (2³⁰ bytes): what is sold as 24 GB has 24; everything printed is in GB of 10⁹ bytes',
      )
        .argParser(real(1, 4096))
        .default(24),
    )
    .addOption(
      new Option('--base <PRECISION>', 'what the base is held in')
        .choices(basePrecisions)
        .default('f32' as const),
    )
    .addOption(
      new Option(
        '--tokens <N>',
        `longest sequence (default: ${String(usualLength)}, or what the model reads if that is less)`,
      ).argParser(whole(16, 131_072)),
    )
    .addOption(
      new Option('--device <KIND>', 'kind of device')
        .choices(deviceKinds.filter((kind) => kind !== 'cpu' && kind !== 'coreml'))
        .default('cuda' as const),
    )
    .action(({ shape, memory, base, tokens, device }) => {
      const { output } = context()
      const config = plannedConfig(shape, tokens ?? null)
      const length = tokens ?? Math.min(usualLength, config.contextLength)
      const found = planCard({ config, base, kind: device, gigabytes: memory, length })
      output.json({ shape, memory, base, device, ...found })
      for (const line of linesOf(found, { base, memory })) output.line(line)
    })

function shortly(bytes: number): string {
  if (bytes === 0) return '–'
  if (bytes < 1e3) return `${String(bytes)} B`
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`
}

const crossing = [
  ['batch', 'ids, masks, tables'],
  ['adapter', 'the adapter'],
  ['heads', 'log-probabilities and slopes'],
  ['gradient', 'the gradient'],
  ['states', 'states between segments'],
] as const

function trafficLines({ microBatch, update }: CardPlan['traffic']): string[] {
  const line = (what: string, { up, down }: { readonly up: number; readonly down: number }) =>
    `  ${what.padEnd(32)}${shortly(up).padStart(12)}${shortly(down).padStart(12)}`
  return [
    'Over the bus, per micro-batch:'.padEnd(34) + 'to it'.padStart(12) + 'back'.padStart(12),
    ...crossing.map(([kind, what]) => line(what, microBatch[kind])),
    line('and with an update', update),
  ]
}

function linesOf(
  found: CardPlan,
  { base, memory }: { readonly base: string; readonly memory: number },
): string[] {
  const { segments, weightBytes, adapterBytes, optimizerBytes, stepsThere, updateBytes } = found
  const { rowBytes, learningBytes, headBytes } = found
  const longest = Math.max(...segments.map(({ first, end }) => end - first))
  return [
    `Weights in ${base}`.padEnd(34) + gigabytes(weightBytes),
    'Adapter'.padEnd(34) +
      `${gigabytes(adapterBytes)}; gradient and moments ${stepsThere ? 'there too' : 'in the machine’s memory'}: ${gigabytes(optimizerBytes)}`,
    ...(stepsThere ? ['An update'.padEnd(34) + gigabytes(updateBytes)] : []),
    `Learning from ${String(found.tokens)} tokens`.padEnd(34) +
      `${gigabytes(learningBytes)} in ${String(segments.length)} segments of up to ${String(longest)} layers; the head alone ${gigabytes(headBytes)}`,
    `A row of ${String(found.length)} tokens`.padEnd(34) +
      `${gigabytes(rowBytes)}; ${String(found.rows)} rows may decode together`,
    'Total, with what is set aside'.padEnd(34) + gigabytes(found.totalBytes),
    ...trafficLines(found.traffic),
    `It ${found.fits ? 'fits' : 'does not fit'} ${String(memory)} GiB, which are ${gigabytes(memory * 2 ** 30)}.`,
  ]
}

import { plural } from '#shared/plural.ts'
import { type Device, deviceKinds } from '#shared/device.ts'
import { AppError } from '#shared/errors.ts'
import type { ProbeReport, ProbeRun } from '#host/checks/probe.ts'
import { defineCommand } from '../command.ts'
import { choice, integer, text } from '../options.ts'
import type { Output } from '../output.ts'

export const probe = defineCommand({
  name: 'probe',
  summary: 'Let an algorithm learn a tiny task it cannot fail unless it is broken',
  positionals: [{ name: 'NAME', description: 'constant, conditional, multi-input, grid, value, or all' }],
  options: {
    algorithm: text('A', 'what learns, or all that learn by trying (default grpo)'),
    seed: integer('N', 'of model, task and sampling', { default: 1, minimum: 0 }),
    seeds: integer('N', 'so many seeds, from --seed on', { default: 1, minimum: 1, maximum: 1000 }),
    steps: integer('N', 'steps (default: what the probe allows); for one run only', { minimum: 1 }),
    device: choice(deviceKinds, 'where to compute (default cpu)'),
    threads: integer('N', 'CPU threads (default: one per physical core)', { minimum: 1, maximum: 1024 }),
  },
  notes: () => [
    'A decoder of two layers and seven tokens is made on the spot. Exits with an error where the task was not learned.',
    'turnwise probe all --algorithm all --seeds 3 tries everything and prints a table.',
  ],
  async run({ options, positionals: [name = ''] }, { output }) {
    const { chooseDevice } = await import('#host/models/openModel.ts')
    const { algorithm = 'grpo', seed, seeds, steps } = options
    const { device: kind = null, threads = null } = options
    const device = await chooseDevice({ kind, threads })
    if (name === 'all' || algorithm === 'all' || seeds > 1) {
      await runMatrix(
        { name, algorithm, device, seeds: Array.from({ length: seeds }, (_, i) => seed + i) },
        output,
      )
      return
    }
    const given = steps === undefined ? {} : { steps }
    await runOne({ probe: name, algorithm, seed, device, ...given }, output)
  },
})

async function runOne(run: ProbeRun, output: Output): Promise<void> {
  const { probeAlgorithm } = await import('#host/checks/probe.ts')
  const report = await probeAlgorithm(run)
  output.json(report)
  for (const line of reportLines(report)) output.line(line)
  if (!report.passed) throw notLearned(report)
}

interface MatrixWish {
  readonly name: string
  readonly algorithm: string
  readonly seeds: readonly number[]
  readonly device: Device
}

async function runMatrix({ name, algorithm, seeds, device }: MatrixWish, output: Output): Promise<void> {
  const { probeAlgorithms, probeMatrix, probeNames } = await import('#host/checks/probe.ts')
  const wish = {
    probes: name === 'all' ? probeNames : [name],
    algorithms: algorithm === 'all' ? probeAlgorithms : [algorithm],
    seeds,
    device,
  }
  const reports: ProbeReport[] = []
  output.line('probe        algorithm            seed  sampled  greedy   value  seconds')
  for await (const report of probeMatrix(wish)) {
    reports.push(report)
    output.line(tableLine(report))
  }
  const failed = reports.filter(({ passed }) => !passed)
  output.json({ passed: failed.length === 0, reports })
  output.line(`${reports.length - failed.length} of ${reports.length} learned.`)
  if (failed[0] !== undefined) throw notLearned(failed[0])
}

function tableLine(report: ProbeReport): string {
  const { sampledAccuracy, greedyAccuracy, valueError, seconds, passed } = report
  return [
    report.probe.padEnd(12),
    report.algorithm.padEnd(20),
    String(report.seed).padStart(4),
    percent(sampledAccuracy).padStart(8),
    percent(greedyAccuracy).padStart(7),
    (valueError === null ? '' : valueError.toFixed(3)).padStart(7),
    seconds.toFixed(1).padStart(8),
    ...(passed ? [] : ['  not learned']),
  ].join(' ')
}

const percent = (share: number): string => `${(100 * share).toFixed(0)} %`

function reportLines({ before, steps, seconds, ...report }: ProbeReport): string[] {
  const values = report.valueError === null ? [] : [`  value off by ${shown(before)} → ${shown(report)}`]
  return [
    `${report.probe} with ${report.algorithm}, seed ${report.seed}: ${plural(steps, 'step')} in ${seconds.toFixed(1)} s`,
    `  sampled  ${percent(before.sampledAccuracy)} → ${percent(report.sampledAccuracy)}`,
    `  greedy   ${percent(before.greedyAccuracy)} → ${percent(report.greedyAccuracy)}`,
    ...values,
    `  ${report.passed ? 'learned' : 'not learned'}: wanted is ${wanted(report)}`,
  ]
}

const shown = ({ valueError }: Pick<ProbeReport, 'valueError'>): string => (valueError ?? NaN).toFixed(3)

const wanted = ({ measure, threshold }: Pick<ProbeReport, 'measure' | 'threshold'>): string =>
  measure === 'value'
    ? `a value off by less than ${threshold}`
    : `a ${measure} accuracy of at least ${percent(threshold)}`

const notLearned = (report: ProbeReport): AppError =>
  new AppError(
    'probe/failed',
    `${report.algorithm} did not learn the probe ${report.probe}: wanted is ${wanted(report)}.`,
    'Try another seed and more --steps; where it never learns, something between sampling and update is broken.',
  )

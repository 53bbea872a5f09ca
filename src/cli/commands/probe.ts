import { deviceKinds } from '#shared/device.ts'
import { AppError } from '#shared/errors.ts'
import type { ProbeReport } from '#host/workers/probe.ts'
import { defineCommand } from '../command.ts'
import { choice, integer, text } from '../options.ts'

export const probe = defineCommand({
  name: 'probe',
  summary: 'Let an algorithm learn a tiny task it cannot fail unless it is broken',
  positionals: [{ name: 'NAME', description: 'constant, conditional, multi-input, grid or value' }],
  options: {
    algorithm: text('A', 'what learns (default grpo)'),
    seed: integer('N', 'of model, task and sampling', { default: 1, minimum: 0 }),
    steps: integer('N', 'steps (default: what the probe allows)', { minimum: 1 }),
    device: choice(deviceKinds, 'where to compute (default cpu)'),
    threads: integer('N', 'CPU threads (default: one per physical core)', { minimum: 1, maximum: 1024 }),
  },
  notes: () => [
    'A decoder of two layers and seven tokens is made on the spot. Exits with an error where the task was not learned.',
  ],
  async run({ options, positionals }, { output }) {
    const { chooseDevice } = await import('#host/workers/model.ts')
    const { probeAlgorithm } = await import('#host/workers/probe.ts')
    const { seed, steps } = options
    const report = await probeAlgorithm({
      probe: positionals[0] ?? '',
      algorithm: options.algorithm ?? 'grpo',
      seed,
      device: await chooseDevice({ kind: options.device ?? null, threads: options.threads ?? null }),
      ...(steps === undefined ? {} : { steps }),
    })
    output.json(report)
    for (const line of reportLines(report)) output.line(line)
    if (!report.passed) throw notLearned(report)
  },
})

const percent = (share: number): string => `${(100 * share).toFixed(0)} %`

function reportLines({ before, steps, seconds, ...report }: ProbeReport): string[] {
  const values = report.valueError === null ? [] : [`  value off by ${shown(before)} → ${shown(report)}`]
  return [
    `${report.probe} with ${report.algorithm}, seed ${report.seed}: ${steps} steps in ${seconds.toFixed(1)} s`,
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

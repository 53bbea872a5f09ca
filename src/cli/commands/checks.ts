/** Commands that check this installation: self-test, probes, and leftovers of ONNX Runtime's telemetry. */
import { Command, Option } from '@commander-js/extra-typings'
import { deviceKinds, type Device, type DeviceKind } from '#shared/device.ts'
import { AppError } from '#shared/errors.ts'
import { plural } from '#shared/plural.ts'
import type { ProbeReport, ProbeRun } from '#host/checks/probe.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { selftestParts, type SelftestFinding } from '#host/devices/deviceRecords.ts'
import { removeTelemetryFiles, telemetryFiles } from '#host/telemetryFiles.ts'
import { listOf, maxThreads, oneOf, threads, whole, type Context } from '../command.ts'
import type { Output } from '../output.ts'

export const selftest = (context: Context) =>
  new Command('selftest')
    .description('Check that this installation computes correctly')
    .option('--full', 'check every architecture, more directions, and a probe for every algorithm', false)
    .option(
      '--only <PARTS>',
      'run only these checks, comma-separated',
      listOf(oneOf(selftestParts)),
      selftestParts,
    )
    .option('--directions <N>', 'random directions per gradient (default 1, with --full 4)', whole(1))
    .addOption(new Option('--device <KIND>', 'device to check (default cpu)').choices(deviceKinds))
    .option(
      '--tf32',
      'multiply as a run with base.precision tf32 does, with wider limits; needs --device cuda',
      false,
    )
    .option(...threads, whole(1, maxThreads))
    .action(async ({ full, only, directions, ...options }) => {
      const { dataDirectory, output } = context()
      const { runSelftest } = await import('#host/checks/selftest.ts')
      const { rememberProof } = await import('#host/devices/deviceRecords.ts')
      const device = await openDevice(options)
      const startedAt = performance.now()
      const findings: SelftestFinding[] = []
      const isWhole = only.length === selftestParts.length
      const given = {
        ...(isWhole ? {} : { parts: only }),
        ...(directions === undefined ? {} : { directions }),
      }
      for await (const finding of runSelftest({ device, full, ...given })) {
        findings.push(finding)
        if (full || !finding.passed) output.line(findingLine(finding))
      }
      if (isWhole && device.kind !== 'cpu') {
        const seconds = (performance.now() - startedAt) / 1000
        rememberProof(device, dataFolders(dataDirectory).cache, { findings, seconds })
      }
      conclude(findings, output)
    })

async function openDevice(given: {
  readonly device?: DeviceKind | undefined
  readonly threads?: number | undefined
  readonly tf32?: boolean
}): Promise<Device> {
  const { chooseDevice } = await import('#host/models/openModel.ts')
  return chooseDevice({
    kind: given.device ?? null,
    threads: given.threads ?? null,
    tf32: given.tf32 ?? false,
  })
}

function conclude(findings: readonly SelftestFinding[], output: Output): void {
  const failed = findings.filter(({ passed }) => !passed)
  output.json({ passed: failed.length === 0, findings })
  for (const line of summaryLines(findings)) output.line(line)
  if (failed.length > 0) throw failure(failed, findings.length)
  output.line(`All ${findings.length} checks passed.`)
}

/** Summarizes findings in one line per part, the text before the slash in their names. */
export function summaryLines(findings: readonly SelftestFinding[]): string[] {
  const partOf = ({ name }: SelftestFinding) => name.slice(0, name.indexOf('/'))
  return [...new Set(findings.map(partOf))].map((part) => {
    const own = findings.filter((finding) => partOf(finding) === part)
    const passed = own.filter((finding) => finding.passed).length
    return `${part.padEnd(12)} ${passed} of ${own.length} checks passed`
  })
}

export const findingLine = ({ passed, name, measured, limit, sentence }: SelftestFinding): string =>
  `${passed ? 'ok  ' : 'FAIL'}  ${name.padEnd(40)} ${measured?.toExponential(1) ?? 'no number'} of ${limit.toExponential(0)}${passed ? '' : `  ${sentence}`}`

export const failure = (failed: readonly SelftestFinding[], count: number): AppError =>
  new AppError(
    'runtime/failed',
    `${failed.length} of ${count} checks failed, first ${failed[0]?.name ?? ''}.`,
    'Do not trust anything trained on this device. Try --device cpu; if that fails too, reinstall Turnwise.',
  )

export const probe = (context: Context) =>
  new Command('probe')
    .description(
      'Train on a tiny task that an algorithm fails only if it is broken.\n\nThe model is a new decoder with two layers and seven tokens. Exits with an error if the task was not learned. turnwise probe all --algorithm all --seeds 3 runs every combination and prints a table.',
    )
    .argument('<NAME>', 'constant, conditional, multi-input, grid, value, or all')
    .option('--algorithm <A>', 'algorithm to train with, or all that learn from rewards', 'grpo')
    .option('--seed <N>', 'seed of model, task and sampling', whole(0), 1)
    .option('--seeds <N>', 'number of seeds, starting at --seed', whole(1, 1000), 1)
    .option('--steps <N>', 'steps (default: the probe’s limit); only for a single run', whole(1))
    .addOption(new Option('--device <KIND>', 'device to compute on (default cpu)').choices(deviceKinds))
    .option(...threads, whole(1, maxThreads))
    .action(async (name, { algorithm, seed, seeds, steps, ...options }) => {
      const { output } = context()
      const device = await openDevice(options)
      if (name === 'all' || algorithm === 'all' || seeds > 1) {
        const all = Array.from({ length: seeds }, (_, i) => seed + i)
        await runMatrix({ name, algorithm, device, seeds: all }, output)
        return
      }
      const given = steps === undefined ? {} : { steps }
      await runOne({ probe: name, algorithm, seed, device, ...given }, output)
    })

async function runOne(run: ProbeRun, output: Output): Promise<void> {
  const { probeAlgorithm } = await import('#host/checks/probe.ts')
  const report = await probeAlgorithm(run)
  output.json(report)
  for (const line of reportLines(report)) output.line(line)
  if (!report.passed) throw notLearned(report)
}

interface MatrixRequest {
  readonly name: string
  readonly algorithm: string
  readonly seeds: readonly number[]
  readonly device: Device
}

async function runMatrix({ name, algorithm, seeds, device }: MatrixRequest, output: Output): Promise<void> {
  const { probeAlgorithms, probeMatrix, probeNames } = await import('#host/checks/probe.ts')
  const matrix = {
    probes: name === 'all' ? probeNames : [name],
    algorithms: algorithm === 'all' ? probeAlgorithms : [algorithm],
    seeds,
    device,
  }
  const reports: ProbeReport[] = []
  output.line('probe        algorithm            seed  sampled  greedy   value  seconds')
  for await (const report of probeMatrix(matrix)) {
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
    report.algorithmTitle.padEnd(20),
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
  const values = report.valueError === null ? [] : [`  value error ${shown(before)} → ${shown(report)}`]
  return [
    `${report.probe} with ${report.algorithmTitle}, seed ${report.seed}: ${plural(steps, 'step')} in ${seconds.toFixed(1)} s`,
    `  sampled  ${percent(before.sampledAccuracy)} → ${percent(report.sampledAccuracy)}`,
    `  greedy   ${percent(before.greedyAccuracy)} → ${percent(report.greedyAccuracy)}`,
    ...values,
    `  ${report.passed ? 'learned' : 'not learned'}: requires ${wanted(report)}`,
  ]
}

const shown = ({ valueError }: Pick<ProbeReport, 'valueError'>): string => (valueError ?? NaN).toFixed(3)

const wanted = ({ measure, threshold }: Pick<ProbeReport, 'measure' | 'threshold'>): string =>
  measure === 'value'
    ? `a value error below ${threshold}`
    : `a ${measure} accuracy of at least ${percent(threshold)}`

const notLearned = (report: ProbeReport): AppError =>
  new AppError(
    'probe/failed',
    `${report.algorithmTitle} did not learn the probe ${report.probe}, which requires ${wanted(report)}.`,
    'Try another seed and more --steps; if it never learns, something between sampling and update is broken.',
  )

export const telemetry = (context: Context) =>
  new Command('telemetry')
    .description(
      'List the files that ONNX Runtime’s telemetry left on this machine, or remove them.\n\nTurnwise turns this telemetry off; before 23 November 2026 it did not. SECURITY.md says what was reported. Other programs that use ONNX Runtime may create them again.',
    )
    .option('--remove', 'remove the files', false)
    .action(({ remove }) => {
      const { output } = context()
      const files = telemetryFiles()
      const removed = remove ? removeTelemetryFiles() : 0
      output.json({ files, removed })
      if (files.length === 0) output.line('There are no such files on this machine.')
      for (const file of files) output.line(remove ? `Removed ${file}` : file)
      if (files.length > 0 && !remove) output.line('turnwise telemetry --remove deletes them.')
    })

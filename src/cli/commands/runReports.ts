/** Commands that diagnose a run or compare runs. */
import { Command } from '@commander-js/extra-typings'
import type { Api } from '#shared/api/api.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import type { Check, Diagnosis, Evidence, Finding, Proposal } from '#shared/diagnosis.ts'
import { plural } from '#shared/plural.ts'
import { createHost } from '#host/createHost.ts'
import { runReport } from '#host/api/runReport.ts'
import { writeUserFile } from '#host/files/atomic.ts'
import { diagnoseRun } from '#host/runs/runDiagnosis.ts'
import { compareRuns } from '#host/runs/compareRuns.ts'
import { openRunFolder } from '#host/workFolder/runFolder.ts'
import { force, repeated, type Context } from '../command.ts'
import { formatEstimate, tableLines } from '../output.ts'

export const diagnose = (context: Context) =>
  new Command('diagnose')
    .description(
      'Explain what is wrong with a run, on what evidence, and what to change.\n\nIt also works on a run in progress. Try the suggested changes with turnwise fork.',
    )
    .argument('<RUN>', 'run id, an unambiguous part of it, or the folder of the run')
    .action(async (name) => {
      const { dataDirectory, output } = context()
      const { id } = openRunFolder(dataDirectory, name)
      await using host = createHost({ dataDirectory, servesQueue: false })
      const diagnosis = diagnoseRun(host.store, id)
      output.json({ runId: id, ...diagnosis })
      for (const line of diagnosisLines(diagnosis)) output.line(line)
    })

function diagnosisLines(diagnosis: Diagnosis): string[] {
  const { findings, checks } = diagnosis
  const isHealthy = findings.every(({ severity }) => severity === 'note')
  return [
    ...(isHealthy ? [healthyLine(diagnosis)] : []),
    ...findings.flatMap(findingLines),
    ...(checks.length > 0 ? ['', 'What was checked:', ...checkLines(checks)] : []),
  ]
}

const short = (value: number): string => String(Number(value.toPrecision(3)))

const percent = (share: number): string => `${short(100 * share)} %`

const units: Readonly<Record<Check['unit'], (value: number) => string>> = {
  share: percent,
  nats: (value) => `${short(value)} nats`,
  reward: short,
  times: (value) => `${short(value)} times`,
  count: short,
}

function checkLines(checks: readonly Check[]): string[] {
  const width = Math.max(...checks.map(({ title }) => title.length))
  return checks.map(({ title, before, value, unit, limit, isWithin }) => {
    const figure = [before, value].flatMap((each) => (each === null ? [] : units[unit](each))).join(' → ')
    return `  ${isWithin ? '✓' : '!'} ${title.padEnd(width)}  ${figure} (warns when ${limit})`
  })
}

function healthyLine({ stage, firstStep, steps, checks }: Diagnosis): string {
  if (steps === 0) return 'No step has finished yet, so there is nothing to diagnose.'
  const where = `${steps === 1 ? `step ${firstStep}` : `steps ${firstStep} to ${firstStep + steps - 1}`}${stage === null ? '' : ` of stage ${stage + 1}`}`
  return checks.every(({ isWithin }) => isWithin)
    ? `Nothing looks wrong in ${where}.`
    : `No problem is certain in ${where}, but figures marked ! are beyond their limits.`
}

const titles: Readonly<Record<Finding['severity'], string>> = {
  problem: 'Problem',
  warning: 'Warning',
  note: 'Note',
}

const findingLines = ({ severity, words, evidence, proposals }: Finding): string[] => [
  `${titles[severity].padEnd(7)}  ${words}`,
  ...evidence.map((each) => `         ${evidenceText(each)}`),
  ...proposals.map((each) => `      →  ${proposalText(each)}`),
]

function evidenceText({ of, value, fromStep, toStep }: Evidence): string {
  const steps = stepsText(fromStep, toStep)
  return `${of} ${value === null ? 'no number' : Number(value.toPrecision(4))} (${steps})`
}

function proposalText({ words, changes, from, lookAt }: Proposal): string {
  const settings = Object.entries(changes).map(([key, value]) => `${key} ${JSON.stringify(value)}`)
  if (settings.length > 0 && from !== 'newest')
    settings.push(from === 'start' ? 'in a new run' : `in a fork from step ${from}`)
  const steps = lookAt?.kind === 'samples' ? [stepsText(lookAt.fromStep, lookAt.toStep)] : []
  const more = [...settings, ...steps]
  return more.length === 0 ? words : `${words} (${more.join(', ')})`
}

const stepsText = (from: number, to: number): string =>
  from === to ? `step ${from}` : `steps ${from} to ${to}`

type Compared = OutputOf<Api, 'runs.compare'>['runs'][number]
type ComparedFamily = OutputOf<Api, 'runs.compare'>['families'][number]

export const compare = (context: Context) =>
  new Command('compare')
    .description('Compare two runs: their settings and their last metrics')
    .argument('<RUN>', 'run id or an unambiguous part of it')
    .argument('<OTHER>', 'the other run')
    .option('--with <RUN>', 'a further run; may be repeated', repeated, [])
    .option(
      '--metric <NAME>',
      'metric to show; may be repeated (default: reward and related metrics)',
      repeated,
      [],
    )
    .action(async (first, second, options) => {
      const { dataDirectory, output } = context()
      const ids = [first, second, ...options.with].map((name) => openRunFolder(dataDirectory, name).id)
      await using host = createHost({ dataDirectory, servesQueue: false })
      const { runs, families } = compareRuns(host.store, ids, options.metric)
      output.json({ runs, families })
      const metrics = Object.keys(runs[0]?.metrics ?? {})
      const shown = metrics.filter((metric) => runs.some((run) => run.metrics[metric] !== null))
      for (const line of tableLines(['', ...runs.map(titleOf)], rowsOf(runs, shown))) output.line(line)
      for (const line of families.flatMap((family) => familyLines(family, shown))) output.line(line)
    })

const familyLines = ({ name, count, step, metrics }: ComparedFamily, shown: readonly string[]): string[] => [
  '',
  `Mean with 95 % interval over ${plural(count, 'seed')} of ${name} at step ${step}:`,
  ...shown.map((metric) => `  ${metric}  ${formatEstimate(metrics[metric] ?? null)}`),
]

const titleOf = ({ id, name }: Compared): string => name ?? id.slice(-8)

function rowsOf(runs: readonly Compared[], metrics: readonly string[]): string[][] {
  const settings = Object.keys(runs[0]?.settings ?? {})
  return [
    ['run', ...runs.map(({ id }) => id.slice(-8))],
    ['status', ...runs.map(({ status, step }) => `${status}, step ${step}`)],
    ...settings.map((key) => [key, ...runs.map((run) => shortly(run.settings[key]))]),
    ...metrics.map((metric) => [metric, ...runs.map((run) => formatNumber(run.metrics[metric] ?? null))]),
  ]
}

function shortly(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > 40 ? `…${text.slice(-39)}` : text
}

const formatNumber = (value: number | null): string => (value === null ? '–' : value.toPrecision(4))

export const report = (context: Context) =>
  new Command('report')
    .description(
      'Write a report of runs as one HTML file that opens anywhere: curves, settings, comparison, diagnosis, samples, machine\n\nThe file holds no script and loads nothing. Of several runs, the first is what the others are compared with.',
    )
    .argument('<RUN...>', 'run ids or unambiguous parts of them')
    .requiredOption('--html <FILE>', 'where to write it')
    .option(
      '--metric <NAME>',
      'metric to draw; may be repeated (default: as a comparison shows)',
      repeated,
      [],
    )
    .option(...force, false)
    .action(async (names, { html: file, metric, force: overwrite }) => {
      const { dataDirectory, output } = context()
      const ids = names.map((name) => openRunFolder(dataDirectory, name).id)
      await using host = createHost({ dataDirectory, servesQueue: false })
      writeUserFile(file, runReport(host.store, ids, metric), { overwrite })
      output.json({ runs: ids, file })
      output.line(`Wrote ${file}.`)
    })

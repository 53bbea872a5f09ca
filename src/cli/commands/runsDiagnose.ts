import type { Check, Diagnosis, Evidence, Finding, Proposal } from '#shared/diagnosis.ts'
import { openRunFolder } from '#host/runs/runFolder.ts'
import { createHost } from '#host/createHost.ts'
import { diagnoseRun } from '#host/runs/runsService.ts'
import { defineCommand } from '../command.ts'

export const runsDiagnose = defineCommand({
  name: 'runs diagnose',
  summary: 'Say what is wrong with a run, what that rests on and what to change',
  positionals: [{ name: 'RUN', description: 'Run id, an unambiguous part of it, or the folder of the run' }],
  options: {},
  notes: () => ['It works while the run goes on. What to change can be tried with turnwise fork.'],
  async run({ positionals: [name = ''] }, { dataDirectory, output }) {
    const { id } = openRunFolder(dataDirectory, name)
    await using host = createHost({ dataDirectory, servesQueue: false })
    const diagnosis = diagnoseRun(host.store, id)
    output.json({ runId: id, ...diagnosis })
    for (const line of diagnosisLines(diagnosis)) output.line(line)
  },
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

function healthyLine({ stage, firstStep, steps }: Diagnosis): string {
  if (steps === 0) return 'No step is finished yet, so there is nothing to judge.'
  const where = stage === null ? '' : ` of stage ${stage + 1}`
  return `Nothing looks wrong in ${steps === 1 ? `step ${firstStep}` : `steps ${firstStep} to ${firstStep + steps - 1}`}${where}.`
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

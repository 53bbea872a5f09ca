import { deviceKinds } from '#shared/device.ts'
import { AppError } from '#shared/errors.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import type { SelftestRequest } from '#host/checks/selftest.ts'
import { selftestParts, type SelftestFinding, type SelftestPart } from '#host/devices/deviceRecords.ts'
import { defineCommand } from '../command.ts'
import { choice, choices, flag, integer } from '../options.ts'

export const selftest = defineCommand({
  name: 'selftest',
  summary: 'Check that this installation computes rightly',
  positionals: [],
  options: {
    full: flag('every architecture, more directions, and a probe of every algorithm'),
    only: choices(selftestParts, 'check only so much'),
    directions: integer('N', 'random directions of each gradient (default 1, with --full 4)', { minimum: 1 }),
    device: choice(deviceKinds, 'what to check (default cpu)'),
    threads: integer('N', 'CPU threads (default: one per physical core)', { minimum: 1, maximum: 1024 }),
  },
  async run({ options }, { dataDirectory, output }) {
    const { chooseDevice } = await import('#host/models/openModel.ts')
    const { runSelftest } = await import('#host/checks/selftest.ts')
    const { rememberProof } = await import('#host/devices/deviceRecords.ts')
    const device = await chooseDevice({ kind: options.device ?? null, threads: options.threads ?? null })
    const findings: SelftestFinding[] = []
    const startedAt = performance.now()
    const { full, only } = options
    const isWhole = only.length === selftestParts.length
    for await (const finding of runSelftest({ device, ...selectionOf(options) })) {
      findings.push(finding)
      if (full || !finding.passed) output.line(findingLine(finding))
    }
    if (isWhole && device.kind !== 'cpu') {
      const { cache } = dataFolders(dataDirectory)
      rememberProof(device, cache, { findings, seconds: (performance.now() - startedAt) / 1000 })
    }
    const failed = findings.filter(({ passed }) => !passed)
    output.json({ passed: failed.length === 0, findings })
    for (const line of summaryLines(findings)) output.line(line)
    if (failed.length > 0) throw failure(failed, findings.length)
    output.line(`All ${findings.length} checks passed.`)
  },
})

interface GivenSelection {
  readonly full: boolean
  readonly only: readonly SelftestPart[]
  readonly directions: number | undefined
}

const selectionOf = ({ full, only, directions }: GivenSelection): Omit<SelftestRequest, 'device'> => ({
  full,
  ...(only.length === selftestParts.length ? {} : { parts: only }),
  ...(directions === undefined ? {} : { directions }),
})

/** One line per part: what comes before the slash in the names. */
export function summaryLines(findings: readonly SelftestFinding[]): string[] {
  const partOf = ({ name }: SelftestFinding) => name.slice(0, name.indexOf('/'))
  return [...new Set(findings.map(partOf))].map((part) => {
    const own = findings.filter((finding) => partOf(finding) === part)
    const passed = own.filter((finding) => finding.passed).length
    return `${part.padEnd(12)} ${passed} of ${own.length} checks passed`
  })
}

export const findingLine = ({ passed, name, measured, limit, sentence }: SelftestFinding): string =>
  `${passed ? 'ok  ' : 'FAIL'}  ${name.padEnd(40)} ${measured.toExponential(1)} of ${limit.toExponential(0)}${passed ? '' : `  ${sentence}`}`

export const failure = (failed: readonly SelftestFinding[], count: number): AppError =>
  new AppError(
    'runtime/failed',
    `${failed.length} of ${count} checks failed, the first is ${failed[0]?.name ?? ''}.`,
    'Nothing trained here can be trusted. Try --device cpu; if that fails too, install Turnwise again.',
  )

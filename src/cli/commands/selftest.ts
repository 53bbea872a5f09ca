import { deviceKinds } from '#shared/device.ts'
import { AppError } from '#shared/errors.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import type { SelftestFinding } from '#host/workers/selftestReport.ts'
import { defineCommand } from '../command.ts'
import { choice, flag, integer } from '../options.ts'

export const selftest = defineCommand({
  name: 'selftest',
  summary: 'Check that this installation computes rightly',
  positionals: [],
  options: {
    full: flag('every architecture, more directions'),
    device: choice(deviceKinds, 'what to check (default cpu)'),
    threads: integer('N', 'CPU threads (default: one per physical core)', { minimum: 1, maximum: 1024 }),
  },
  async run({ options }, { dataDirectory, output }) {
    const { chooseDevice } = await import('#host/workers/model.ts')
    const { runSelftest } = await import('#host/workers/selftest.ts')
    const { rememberProof } = await import('#host/workers/deviceRecords.ts')
    const device = await chooseDevice({ kind: options.device ?? null, threads: options.threads ?? null })
    const findings: SelftestFinding[] = []
    const startedAt = performance.now()
    for await (const finding of runSelftest({ device, full: options.full })) {
      findings.push(finding)
      if (options.full || !finding.passed) output.line(findingLine(finding))
    }
    if (device.kind !== 'cpu') {
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

/** One line per part: what comes before the slash in the names. */
function summaryLines(findings: readonly SelftestFinding[]): string[] {
  const partOf = ({ name }: SelftestFinding) => name.slice(0, name.indexOf('/'))
  return [...new Set(findings.map(partOf))].map((part) => {
    const own = findings.filter((finding) => partOf(finding) === part)
    const passed = own.filter((finding) => finding.passed).length
    return `${part.padEnd(12)} ${passed} of ${own.length} checks passed`
  })
}

const findingLine = ({ passed, name, measured, limit, sentence }: SelftestFinding): string =>
  `${passed ? 'ok  ' : 'FAIL'}  ${name.padEnd(40)} ${measured.toExponential(1)} of ${limit.toExponential(0)}${passed ? '' : `  ${sentence}`}`

const failure = (failed: readonly SelftestFinding[], count: number): AppError =>
  new AppError(
    'runtime/failed',
    `${failed.length} of ${count} checks failed, the first is ${failed[0]?.name ?? ''}.`,
    'Nothing trained here can be trusted. Try --device cpu; if that fails too, install the packages again with npm ci.',
  )

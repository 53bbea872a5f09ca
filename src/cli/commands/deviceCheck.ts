import { AppError } from '#shared/errors.ts'
import { deviceTitles, type DeviceCheck } from '#shared/device.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { checkDevice, type CheckNews } from '#host/devices/deviceCheck.ts'
import type { SelftestFinding } from '#host/devices/deviceRecords.ts'
import { defineCommand } from '../command.ts'
import { askQuietly, checkWords, readKind } from '../devices.ts'
import { watchInterrupts } from '../interrupt.ts'
import type { Output } from '../output.ts'
import { failure, findingLine, summaryLines } from './selftest.ts'

export const deviceCheck = defineCommand({
  name: 'device check',
  summary: 'Check a device: the self-test on it, and how fast it is beside the CPU; the answer is kept',
  positionals: [{ name: 'DEVICE', description: 'cpu, cuda, dml, webgpu or coreml' }],
  options: {},
  notes: () => [
    'Runs in processes of their own. A run with the device auto takes the fastest device that passed. turnwise selftest',
    '--device tests in more detail.',
  ],
  async run({ positionals: [device = ''] }, { dataDirectory, output }) {
    const kind = readKind(device)
    const stopping = () => output.note('Stopping; nothing is kept of this check.')
    using interrupt = watchInterrupts(stopping, stopping)
    const news = checkDevice({
      ask: askQuietly(dataDirectory),
      place: { kind, deviceId: 0 },
      cacheDirectory: dataFolders(dataDirectory).cache,
      signal: interrupt.gently,
    })
    const { check, findings } = await follow(news, output)
    if (check === null) throw new AppError('api/cancelled', 'The check was stopped.')
    output.json({ device: kind, ...check })
    for (const line of summaryLines(findings)) output.line(line)
    output.line(`${deviceTitles[kind]}: ${checkWords(check)}`)
    const failed = findings.filter(({ passed }) => !passed)
    if (failed.length > 0) throw failure(failed, findings.length)
    if (check.problem !== null)
      throw new AppError(
        'device/unsound',
        check.problem,
        'Update the graphics driver; until then auto passes it over.',
      )
  },
})

interface Followed {
  /** null: it was stopped. */
  readonly check: DeviceCheck | null
  readonly findings: readonly SelftestFinding[]
}

async function follow(
  news: AsyncGenerator<CheckNews, DeviceCheck | null>,
  output: Output,
): Promise<Followed> {
  const findings: SelftestFinding[] = []
  output.note('Testing whether it computes rightly.')
  for (;;) {
    const { done, value } = await news.next()
    if (done === true) return { check: value, findings }
    if ('finding' in value) {
      findings.push(value.finding)
      if (!value.finding.passed) output.line(findingLine(value.finding))
    } else if ('on' in value.measured) {
      const { on, parameters } = value.measured
      const what = on === 'cpu' ? 'the CPU' : 'the device'
      output.note(`Measuring ${what} with ${(parameters / 1e6).toFixed(0)} million parameters.`)
    }
  }
}

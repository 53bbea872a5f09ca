import type { DeviceCheck, DeviceReport } from '#shared/device.ts'
import { requireFree, writeUserFile } from '#host/files/atomic.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { checkDevice } from '#host/devices/deviceCheck.ts'
import { deviceFile } from '#host/devices/deviceFile.ts'
import { readCheck } from '#host/devices/deviceRecords.ts'
import { defineCommand, type CommandContext } from '../command.ts'
import { askDevices, askQuietly, checkWords, readKind } from '../devices.ts'
import { watchInterrupts } from '../interrupt.ts'
import { force, text } from '../options.ts'

const defaultName = 'turnwise-devices.json'

export const deviceReport = defineCommand({
  name: 'device report',
  summary: 'Check the devices and write one file about them that can be sent to the project',
  positionals: [],
  options: {
    device: text('KIND', 'only this one (default: all that can be started here)'),
    out: text('FILE', `what is written (default ${defaultName})`),
    force,
  },
  notes: () => [
    'In the file are the cards, their drivers, the versions of runtime and system, the processor, and what the checks found:',
    'no paths and no names of the machine or its user. Read it, and send it as an issue to the project’s tracker.',
    'Nothing is sent by itself.',
  ],
  async run({ options }, context) {
    const { output } = context
    const file = options.out ?? defaultName
    requireFree(file, { overwrite: options.force }) // before the long work
    const only = options.device === undefined ? null : readKind(options.device)
    const { devices } = await askDevices(context.dataDirectory)
    const wanted = devices.filter(({ kind }) => only === null || kind === only)
    const checked: (DeviceReport & { check: DeviceCheck | null })[] = []
    for (const device of wanted) checked.push({ ...device, check: await checkOf(device, context) })
    const report = deviceFile(checked)
    writeUserFile(file, `${JSON.stringify(report, null, 2)}\n`, { overwrite: options.force })
    output.json({ file, report })
    for (const { kind, check } of report.devices) {
      output.line(`${kind.padEnd(8)}${check === null ? 'Not available.' : checkWords(check)}`)
    }
    output.line(`${file} holds all of it. Read it, and send it as an issue to the project’s tracker.`)
  },
})

/** What is known, or what a check finds now; null where it cannot be started, or the check was stopped. */
async function checkOf(
  { kind, available }: DeviceReport,
  { dataDirectory, output }: CommandContext,
): Promise<DeviceCheck | null> {
  if (!available) return null
  const place = { kind, deviceId: 0 }
  const { cache } = dataFolders(dataDirectory)
  const known = readCheck(place, cache)
  if (known !== null) return known
  output.note(`Checking ${kind}. It may take minutes.`)
  const stopping = () => output.note('Stopping this check; the report goes without it.')
  using interrupt = watchInterrupts(stopping, stopping)
  const news = checkDevice({
    ...{ ask: askQuietly(dataDirectory), place },
    ...{ cacheDirectory: cache, signal: interrupt.gently },
  })
  for (;;) {
    const { done, value } = await news.next()
    if (done === true) return value
  }
}

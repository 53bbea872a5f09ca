/** Devices tested and measured, and what rounding does to a model. */
import type { PrecisionEffect } from '#shared/precision.ts'
import { defaultDevice } from '#engine/runtime/device.ts'
import { measureSpeed, measureThroughput } from '#host/checks/deviceSpeed.ts'
import { checkPrecision } from '#host/checks/precisionCheck.ts'
import { runSelftest } from '#host/checks/selftest.ts'
import type { DevicePlace } from '#host/devices/deviceRecords.ts'
import type { PrecisionInput } from '#host/jobs/precisionJob.ts'
import type { ThroughputInput } from '#host/jobs/throughput.ts'
import { openText } from '#host/models/completing.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { chooseDevice } from '#host/models/openModel.ts'
import type { Tools } from '#host/processes/job.ts'

/**
 * Yields the items of `work` on the device of the input. Errors: AppError 'device/unavailable', and those of `work`.
 */
const onDevice =
  <Input extends { readonly place: DevicePlace }, Item>(
    work: (device: Awaited<ReturnType<typeof chooseDevice>>, input: Input) => AsyncIterable<Item>,
  ) =>
  async (input: Input, { say }: Tools<Item>): Promise<void> => {
    const device = await chooseDevice({ ...input.place, threads: null })
    for await (const item of work(device, input)) await say(item)
  }

export const testDevice = onDevice(
  (device, { full }: { readonly place: DevicePlace; readonly full: boolean }) =>
    runSelftest({ device, full }),
)

export const measureDeviceSpeed = onDevice(measureSpeed)

export const measureThroughputs = onDevice((device, { precisions }: ThroughputInput) =>
  measureThroughput(device, precisions),
)

/** Errors: those of models. */
export async function checkPrecisions(
  { directory, precisions, cacheDirectory }: PrecisionInput,
  { say }: Tools<PrecisionEffect>,
): Promise<void> {
  const model = openModelFolder(directory)
  const { tokenizer } = openText(model)
  const device = defaultDevice()
  for (const precision of precisions)
    await say(await checkPrecision({ model, tokenizer, precision, texts: null, device, cacheDirectory }))
}

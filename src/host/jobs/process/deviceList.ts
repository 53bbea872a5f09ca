/** Lists every kind of device, each tried for real. */
import { defaultThreads, physicalCores } from '#engine/processor.ts'
import { availableDevices } from '#engine/runtime/device.ts'
import type { DeviceList } from '#host/jobs/deviceCheck.ts'
import type { Tools } from '#host/processes/job.ts'

/** Errors: none; what is missing is said of each device. */
export const listDevices = async (_: null, { say }: Tools<DeviceList>): Promise<void> =>
  say({ devices: await availableDevices(), physicalCores: physicalCores(), defaultThreads: defaultThreads() })

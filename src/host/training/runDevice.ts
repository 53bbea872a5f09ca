/** Where a run computes: as its config says, where it began, or, for `auto`, on the fastest device that is known to be sound. */
import { deviceTitles, type Device, type DeviceKind } from '#shared/device.ts'
import { AppError } from '#shared/errors.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import type { ModelFolder } from '#host/models/modelFolder.ts'
import { plannedDevice } from '#host/devices/deviceChoice.ts'
import { requireProof } from '#host/checks/deviceProof.ts'
import { chooseDevice } from '#host/models/openModel.ts'

export interface RunDevice {
  readonly device: Device
  /** Why there, in a sentence. */
  readonly reason: string
}

export interface RunDeviceWish {
  readonly config: Pick<RunConfig, 'device' | 'base'>
  readonly model: ModelFolder
  readonly cacheDirectory: string
  /** Where the run computed so far; null where it begins. */
  readonly before: DeviceKind | null
}

/** Errors: AppError 'device/unavailable', 'device/unsound'; none for `auto` in a run that begins, which then takes the CPU. */
export async function chooseRunDevice(wish: RunDeviceWish): Promise<RunDevice> {
  const { config, model, cacheDirectory, before } = wish
  const isAuto = config.device.kind === 'auto'
  if (isAuto && before !== null) return { device: await goOn(wish, before), reason: 'The run began there.' }
  const { kind, reason } = plannedDevice(config, model.config, cacheDirectory)
  try {
    return { device: await sound(wish, kind), reason }
  } catch (error) {
    if (!isAuto || kind === 'cpu' || !(error instanceof AppError)) throw error
    return { device: await sound(wish, 'cpu'), reason: error.message }
  }
}

async function sound({ config, cacheDirectory }: RunDeviceWish, kind: DeviceKind): Promise<Device> {
  const device = await chooseDevice({ ...config.device, kind })
  await requireProof(device, cacheDirectory)
  return device
}

/** On another device the rest of the run would not be what it would have been. */
async function goOn(wish: RunDeviceWish, kind: DeviceKind): Promise<Device> {
  try {
    return await sound(wish, kind)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    throw new AppError(
      error.code,
      error.message,
      `The run began on ${deviceTitles[kind]} and can go on only there; its checkpoints are whole. To go on elsewhere, fork it with another device. ${error.hint ?? ''}`.trim(),
      error,
    )
  }
}

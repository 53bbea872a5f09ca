/** What commands about devices have in common. */
import { deviceKinds } from '#shared/device.ts'
import { usageError } from './options.ts'

/** Errors: AppError 'usage/invalid' for a device that needs nothing to be installed. */
export function checkInstallable(device: string): void {
  if (device === 'cuda') return
  const known = deviceKinds.some((kind) => kind === device)
  throw usageError(
    known ? `Nothing has to be installed for ${device}.` : `There is no device “${device}”.`,
    'Only cuda has a library that is fetched.',
  )
}

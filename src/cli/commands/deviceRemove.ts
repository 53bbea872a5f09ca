import { removeCuda } from '#host/devices/installedCuda.ts'
import { defineCommand } from '../command.ts'
import { checkInstallable } from '../devices.ts'

export const deviceRemove = defineCommand({
  name: 'device remove',
  summary: 'Remove what was installed for a device, also what was only half fetched',
  positionals: [{ name: 'DEVICE', description: 'cuda' }],
  options: {},
  run({ positionals: [device = ''] }, { dataDirectory, output }) {
    checkInstallable(device)
    const { freedBytes } = removeCuda(dataDirectory)
    output.json({ freedBytes })
    output.line(
      freedBytes === 0
        ? 'There was nothing of the CUDA library to remove.'
        : `Removed the CUDA library: ${(freedBytes / 1e6).toFixed(0)} MB are free again.`,
    )
  },
})

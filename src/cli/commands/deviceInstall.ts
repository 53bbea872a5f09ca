import { oldestCudaDriver } from '#shared/device.ts'
import { planCuda, type CudaPlan } from '#host/devices/installCuda.ts'
import { requireCudaManifest } from '#host/devices/installedCuda.ts'
import { createHost } from '#host/createHost.ts'
import { installFrom, packageIndex } from '#host/devices/librariesService.ts'
import { defineCommand } from '../command.ts'
import { follow, orAbsent } from '../hub.ts'
import { watchInterrupts } from '../interrupt.ts'
import { flag, text, usageError } from '../options.ts'
import { createProgress } from '../progress.ts'
import { askDevices, checkInstallable, gigabytes } from '../devices.ts'

export const deviceInstall = defineCommand({
  name: 'device install',
  summary: 'Fetch what a device needs and the program does not bring: the CUDA library',
  positionals: [{ name: 'DEVICE', description: 'cuda' }],
  options: {
    yes: flag('fetch and install; without it the sizes are told, and nothing happens'),
    index: text(
      'URL',
      'the package index to ask; default: PIP_INDEX_URL, else the one of the settings, else PyPI',
    ),
  },
  notes: () => [
    'Goes into the data directory; the program itself is not changed. An interrupted installation goes on where it',
    'ended. The index gets the only requests that this command makes, besides those to where it keeps its files.',
  ],
  async run({ options, positionals: [device = ''] }, { dataDirectory, json, output }) {
    checkInstallable(device)
    const manifest = requireCudaManifest()
    await using host = createHost({ dataDirectory, servesQueue: false })
    const progress = createProgress(output, json)
    const stopping = () => progress.note('Stopping. What came is kept; the same command goes on from there.')
    using interrupt = watchInterrupts(stopping, stopping)
    const access = packageIndex(
      host,
      interrupt.gently,
      options.index ?? orAbsent(process.env['PIP_INDEX_URL']),
    )
    const plan = planCuda(dataDirectory, manifest)
    if (!plan.isInstalled) {
      for (const line of planLines(plan, access.index)) output.note(line)
      if (!options.yes) throw usageError('Nothing was fetched.', 'Add --yes to fetch and install it.')
      await follow(installFrom(host, access), progress)
    }
    const { devices } = await askDevices(dataDirectory)
    const cuda = devices.find(({ kind }) => kind === 'cuda')
    output.json({ ...planCuda(dataDirectory, manifest), index: access.index, device: cuda })
    output.line(plan.isInstalled ? 'The CUDA library is installed already.' : 'Installed the CUDA library.')
    if (cuda?.available === false)
      output.line(`CUDA cannot be used yet. ${cuda.reason} ${cuda.hint} ${cuda.command}`.trim())
    else output.line('It starts here. Check whether it computes rightly: turnwise device check cuda')
  },
})

const planLines = ({ downloadBytes, installedBytes, packages }: CudaPlan, index: string): string[] => [
  `The CUDA library: ${gigabytes(downloadBytes)} to fetch from ${index}, ${gigabytes(installedBytes)} on the disk.`,
  `Parts of ${packages.join(', ')}.`,
  `NVIDIA’s packages come under NVIDIA’s licence. They need NVIDIA’s driver, ${oldestCudaDriver} or newer, which is not among them.`,
]

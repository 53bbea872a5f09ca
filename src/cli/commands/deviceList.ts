import type { DeviceCheck, DeviceReport } from '#shared/device.ts'
import { readCudaManifest } from '#host/devices/cudaManifest.ts'
import { planCuda, type CudaPlan } from '#host/devices/installCuda.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { readCheck } from '#host/devices/deviceRecords.ts'
import { defineCommand } from '../command.ts'
import { askDevices, checkWords, gigabytes } from '../devices.ts'

export const deviceList = defineCommand({
  name: 'device list',
  summary: 'List what can compute here, whether it was checked, and what is missing',
  positionals: [],
  options: {},
  async run(_given, { dataDirectory, output }) {
    const { cache } = dataFolders(dataDirectory)
    const { devices } = await askDevices(dataDirectory)
    const manifest = readCudaManifest()
    const library = manifest === null ? null : planCuda(dataDirectory, manifest)
    const rows = devices.map((report) => ({
      ...report,
      check: report.available ? readCheck({ kind: report.kind, deviceId: 0 }, cache) : null,
    }))
    output.json({ devices: rows, cudaLibrary: library })
    for (const row of rows) {
      const [first = '', ...others] = sentences(row, library)
      output.line(`${row.kind.padEnd(8)}${first}`)
      for (const line of others) output.line(`${' '.repeat(8)}${line}`)
    }
  },
})

type Row = DeviceReport & { readonly check: DeviceCheck | null }

function sentences(row: Row, library: CudaPlan | null): string[] {
  const { kind, check } = row
  if (!row.available) {
    return [
      `Not available. ${row.reason}`,
      `${row.hint} ${row.command}`.trim(),
      ...(kind === 'cuda' ? libraryLines(library) : []),
    ]
  }
  if (check !== null) return [checkWords(check)]
  return [kind === 'cpu' ? 'Always there.' : `Not checked yet: turnwise device check ${kind}`]
}

const libraryLines = (library: CudaPlan | null): string[] =>
  library === null || library.isInstalled
    ? []
    : [
        `The library: ${gigabytes(library.downloadBytes)} to fetch, ${gigabytes(library.installedBytes)} on the disk.`,
      ]

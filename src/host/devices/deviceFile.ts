/** A report on this machine's devices for the project: their checks, and nothing that identifies the owner. */
import { readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { cpus, homedir, hostname, release, totalmem, userInfo } from 'node:os'
import path from 'node:path'
import { attempt } from '#shared/attempt.ts'
import { deviceRemarks, type DeviceCheck, type DeviceReport } from '#shared/device.ts'
import { describeVersions } from '#host/dataDirectory.ts'

/** A card as Linux knows it; other systems tell nothing here. */
export interface Card {
  /** PCI numbers, such as 0x10de and 0x2684. */
  readonly vendor: string
  readonly device: string
  /** The kernel's module, and its version where it has one of its own. */
  readonly driver: string | null
  readonly version: string | null
}

export type CheckedDevice = DeviceReport & { readonly check: DeviceCheck | null }

export interface DeviceFile {
  readonly format: 1
  /** Turnwise, the runtime, Node and the kind of system. */
  readonly versions: string
  /** The kernel's or system's number. */
  readonly system: string
  readonly processor: string
  readonly memoryGb: number
  readonly cards: readonly Card[]
  /** Names that the driver gives. */
  readonly names: readonly string[]
  /** Vulkan drivers by the names of their files. */
  readonly vulkan: readonly string[]
  readonly devices: readonly (CheckedDevice & { readonly remarks: readonly string[] })[]
}

/** Errors: none; what the system does not tell is left out. */
export function deviceFile(devices: readonly CheckedDevice[]): DeviceFile {
  const [processor] = cpus()
  return withoutPlaces({
    format: 1,
    versions: describeVersions(),
    system: /^\d+(\.\d+)*/.exec(release())?.[0] ?? 'unknown', // what follows may be somebody's own build
    processor: `${processor?.model.trim() ?? 'unknown'}, ${String(cpus().length)} threads`,
    memoryGb: Math.round(totalmem() / 1e9),
    cards: linuxCards(),
    names: nvidiaNames(),
    vulkan: vulkanDrivers(),
    devices: devices.map((each) => ({ ...each, remarks: deviceRemarks(each.kind) })),
  })
}

function linuxCards(): Card[] {
  const root = '/sys/class/drm'
  const cards = listed(root).filter((name) => /^card\d+$/.test(name))
  return cards.map((card) => {
    const folder = path.join(root, card, 'device')
    const driver = driverOf(folder)
    return {
      vendor: contents(path.join(folder, 'vendor')) ?? 'unknown',
      device: contents(path.join(folder, 'device')) ?? 'unknown',
      driver,
      version: driver === null ? null : contents(path.join('/sys/module', driver, 'version')),
    }
  })
}

const driverOf = (folder: string): string | null =>
  attempt(() => path.basename(readlinkSync(path.join(folder, 'driver'))), null)

/** A container may show NVIDIA's files and no `/sys/class/drm`. */
function nvidiaNames(): string[] {
  const root = '/proc/driver/nvidia'
  const version = /(?:Kernel Module|for \S+)\s+([\d.]+)/.exec(contents(path.join(root, 'version')) ?? '')?.[1]
  const models = listed(path.join(root, 'gpus')).flatMap((gpu) => {
    const text = contents(path.join(root, 'gpus', gpu, 'information')) ?? ''
    return /^Model:\s*(.+)$/m.exec(text)?.[1] ?? []
  })
  return version === undefined ? models : [...models, `NVIDIA driver ${version}`]
}

function vulkanDrivers(): string[] {
  const chosen = (process.env['VK_ICD_FILENAMES'] ?? process.env['VK_DRIVER_FILES'] ?? '').split(
    path.delimiter,
  )
  if (chosen[0]) return chosen.map((file) => path.basename(file))
  return ['/usr/share/vulkan/icd.d', '/etc/vulkan/icd.d'].flatMap(listed)
}

/**
 * Messages of drivers name files, and files lie in folders with a person's name: paths become “…”, and the names of the
 * machine and its user wherever they stand.
 */
export function withoutPlaces<T>(value: T, names: readonly string[] = ownNames()): T {
  const text = JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part !== 'string') return part
    const cut = part.replace(/(^|[\s"'“‘(=:,])(?:file:\/\/|[A-Za-z]:[\\/]|\\\\|~?\/)[^\s"'”’),]*/g, '$1…')
    return names.reduce(
      (rest, name) => rest.replaceAll(new RegExp(`(?<!\\w)${escaped(name)}(?!\\w)`, 'gi'), '…'),
      cut,
    )
  })
  return JSON.parse(text) as T
}

const escaped = (name: string): string => name.replaceAll(/[^\w\s]/g, '\\$&')

function ownNames(): string[] {
  const names = [hostname(), path.basename(homedir()), userName()]
  return names.filter((name) => name.length > 1 && name !== 'root' && name !== 'localhost')
}

function userName(): string {
  // The user may have no entry.
  return attempt(() => userInfo().username, '')
}

const listed = (folder: string): string[] => attempt(() => readdirSync(folder).toSorted(), [])

const contents = (file: string): string | null => attempt(() => readFileSync(file, 'utf8').trim(), null)

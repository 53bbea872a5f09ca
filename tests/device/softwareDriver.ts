/** SwiftShader, a Vulkan driver that computes on the CPU: slow, and numerically a real WebGPU device. */
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Where Debian's chromium-common has it. */
const folder = '/usr/lib/chromium'
const driver = join(folder, 'vk_swiftshader_icd.json')

/** Why tests on it cannot run here; null where they can. */
export const missingSoftwareGpu: string | null = existsSync(driver)
  ? null
  : `no software GPU: ${driver} is missing (Debian: apt-get install chromium-common)`

/** What a process needs from its start to see the software GPU and no other one. */
export const softwareGpu: Readonly<Record<string, string>> = {
  VK_ICD_FILENAMES: driver,
  LD_LIBRARY_PATH: folder,
  XDG_RUNTIME_DIR: tmpdir(),
}

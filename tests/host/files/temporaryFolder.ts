import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const folders = new Set<string>()

/** A folder for one test file, removed after it. */
export function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'turnwise-test-')))
  folders.add(folder)
  return folder
}

/** Called after every test file: `afterAll` does nothing where a test, not a file, makes a folder. */
export function removeTemporaryFolders(): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  folders.clear()
}

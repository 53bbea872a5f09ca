/** Python where the machine has it: `python3`, or the program named by TURNWISE_PYTHON. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import path from 'node:path'
import type { RunConfig } from '#shared/runConfig.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { allowPython } from '#host/python/consent.ts'
import { reviewConfig } from '#host/code/rewardCode.ts'

export const interpreter = process.env['TURNWISE_PYTHON'] ?? 'python3'

/** Whether it is there, new enough, and has these modules. */
export const hasPython = (...modules: readonly string[]): boolean =>
  spawnSync(
    interpreter,
    [
      '-c',
      ['import sys; assert sys.version_info >= (3, 9)', ...modules.map((name) => `import ${name}`)].join(
        '\n',
      ),
    ],
    { timeout: 100_000 },
  ).status === 0

/** Consents of a machine whose owner allowed what this config names. */
export function consentsTo(config: RunConfig, folder: string): string {
  const dataDirectory = mkdtempSync(path.join(folder, 'machine-'))
  allowPython(reviewConfig(config, null, dataDirectory), consentsFile(dataDirectory))
  return consentsFile(dataDirectory)
}

/** Programs of an interpreter: which one is started. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import type { AllowedInterpreter } from '#host/python/consent.ts'
import { programOf, startProgram } from '#host/python/program.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { hasPython, interpreter } from './interpreter.ts'

const all = temporaryFolder()

/** Chooses a program by a file of its working folder, as shims of version managers do. */
function shim(): AllowedInterpreter {
  const file = path.join(all, 'shims/python3')
  mkdirSync(path.dirname(file))
  writeFileSync(
    file,
    `#!/bin/sh\nif [ -e .tool-versions ]; then exec "$(cat .tool-versions)" "$@"; fi\nexec "${interpreter}" "$@"\n`,
  )
  chmodSync(file, 0o755)
  return file as AllowedInterpreter
}

test.skipIf(process.platform === 'win32' || !hasPython())(
  'the folder that a program works in does not choose it (skipped without Python, and on Windows)',
  async () => {
    const folder = path.join(all, 'sent')
    mkdirSync(folder)
    const other = path.join(folder, 'other')
    writeFileSync(other, '#!/bin/sh\necho other\n')
    chmodSync(other, 0o755)
    writeFileSync(path.join(folder, '.tool-versions'), other)
    const started = startProgram(
      await programOf(shim()),
      { args: ['-c', 'print("asked for")'] },
      { folder, environment: process.env, isQuiet: true },
    )
    expect((await started.ended).tail).toBe('asked for')
  },
)

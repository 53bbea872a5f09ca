/** Tries what code that got out of the virtual machine would try, in a process like that of the sandbox. */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { Worker } from 'node:worker_threads'

const [outside = '', target = ''] = process.argv.slice(2)

const attempts: Readonly<Record<string, () => unknown>> = {
  'reads a file': () => readFileSync(outside, 'utf8'),
  'writes a file': () => writeFileSync(target, 'x'),
  'starts a program': () => {
    const { error, stdout } = spawnSync('id')
    if (error !== undefined) throw error
    return String(stdout)
  },
  'starts a thread': () => new Worker('1', { eval: true }),
  'takes the types off code': () => stripTypeScriptTypes('const a: number = 1'),
}

const results = Object.entries(attempts).map(([name, attempt]) => {
  try {
    attempt()
    return [name, 'done']
  } catch (error) {
    return [name, (error as NodeJS.ErrnoException).code ?? 'failed']
  }
})
process.send?.(Object.fromEntries(results), () => process.exit())

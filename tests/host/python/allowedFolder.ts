/** A folder of a person's code that was allowed as it stood, in which tests then change and plant files. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { consentsFile } from '#host/consents/consents.ts'
import { allowPython, requireConsent, reviewPython } from '#host/python/consent.ts'
import { openPython } from '#host/python/pythonCode.ts'
import { interpreter } from './interpreter.ts'

/** A folder with code that was allowed as it stood, and a place where code leaves a mark. */
export function allowedFolder(
  all: string,
  main: string,
  beside: Readonly<Record<string, string>> = {},
  link?: string,
) {
  const real = mkdtempSync(path.join(all, 'project-'))
  const folder = link === undefined ? real : `${real}-${link}`
  if (link !== undefined) symlinkSync(real, folder)
  const put = (name: string, content: string) => {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
    writeFileSync(path.join(folder, name), content)
  }
  for (const [name, content] of Object.entries(beside)) put(name, content)
  const mark = path.join(real, 'it-ran')
  const code = `${main}\ndef score(completions):\n    return [value() for _ in completions]\n`
  put('rewards.py', code)
  const file = path.join(folder, 'rewards.py')
  const source = { code, language: 'py', file } as const
  const consents = consentsFile(mkdtempSync(path.join(all, 'machine-')))
  const review = () => reviewPython(source, interpreter, consents)
  const allow = () => allowPython([review()], consents)
  allow()
  const evil = `open(${JSON.stringify(mark)}, 'w').close()\npoints = 1\n`
  const open = () =>
    openPython(source, { interpreter, callSeconds: 60, messages: null, form: null, consents })
  const ran = () => existsSync(mark)
  const interpreterAllowed = () => requireConsent(source, interpreter, consents).interpreter
  return { folder, put, evil, open, ran, review, allow, interpreterAllowed, source, consents }
}

export type AllowedFolder = ReturnType<typeof allowedFolder>

/** Scores; `planted` is called between the start of Python and that. */
export async function scored(
  open: AllowedFolder['open'],
  planted: () => void = () => undefined,
): Promise<string> {
  await using code = await open()
  planted()
  const [answer] = await code.score([{ prompt: '', completion: 'x', row: {}, step: 0 }], 'score')
  return JSON.stringify(answer)
}

/** Code without a source, which nobody is asked about. */
export function putCompiled({ folder, put, evil }: AllowedFolder, name: string): void {
  put('source.py', evil)
  const compile = 'import py_compile, sys; py_compile.compile(sys.argv[1], sys.argv[2])'
  const target = path.join(folder, ...`${name}.pyc`.split('/'))
  spawnSync(interpreter, ['-c', compile, path.join(folder, 'source.py'), target])
  rmSync(path.join(folder, 'source.py'))
  if (!existsSync(target)) throw new Error(`${target} was not made.`)
}

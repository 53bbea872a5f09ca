/** Finds Electron or a browser for the window, and builds the window if it is missing or older than its sources. */
import { randomUUID } from 'node:crypto'
import { existsSync, globSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { attempt } from '#shared/attempt.ts'
import { AppError } from '#shared/errors.ts'
import { runProgram, type Program } from '#host/processes/programs.ts'
import type { Output } from './output.ts'

/** Folder of the project or package, which Electron starts. */
const applicationFolder = fileURLToPath(new URL('../..', import.meta.url))

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Returns the Electron installed beside this package, or named by ELECTRON_OVERRIDE_DIST_PATH; null if there is none.
 * The package is inspected but never loaded, which would start a download.
 */
export function findElectron(env: Environment = process.env): string | null {
  const folder = electronPackage()
  const given = env['ELECTRON_OVERRIDE_DIST_PATH']
  const name = folder === null ? null : textOf(path.join(folder, 'path.txt'))
  const candidates = [
    ...(given ? [path.join(given, name ?? 'electron')] : []),
    ...(folder === null || name === null ? [] : [path.join(folder, 'dist', name)]),
  ]
  return candidates.find((file) => existsSync(file)) ?? null
}

const electronPackage = (): string | null =>
  attempt(() => path.dirname(createRequire(import.meta.url).resolve('electron/package.json')), null)

const textOf = (file: string): string | null => (existsSync(file) ? readFileSync(file, 'utf8').trim() : null)

/** True if the machine has a display; only Linux machines can lack one. */
export const hasDisplay = (env: Environment = process.env, platform = process.platform): boolean =>
  platform !== 'linux' || Boolean(env['DISPLAY']) || Boolean(env['WAYLAND_DISPLAY'])

export const desktopProgram = (electron: string, dataDirectory: string): Program => ({
  file: electron,
  args: [applicationFolder],
  env: { TURNWISE_HOME: dataDirectory, ELECTRON_RUN_AS_NODE: undefined },
})

/** Returns the command that opens a page, a file, in the user's browser. No shell reads the file's name. */
export function browserProgram(page: string, platform = process.platform): Program {
  if (platform === 'darwin') return { file: 'open', args: [page] }
  if (platform === 'win32') {
    const { href } = pathToFileURL(page, { windows: true })
    return { file: 'rundll32', args: ['url.dll,FileProtocolHandler', href] }
  }
  return { file: 'xdg-open', args: [page] }
}

/** Time by which a browser has read the page, in ms. */
const pageMs = 60_000

/**
 * Writes a page, readable by its owner only, that redirects to an address. The address holds the token, so it must not be a
 * program argument, which every user of the machine can read. Disposing removes it.
 */
export function redirectPage(folder: string, url: string): Disposable & { readonly file: string } {
  const file = path.join(folder, `open-${randomUUID()}.html`)
  const target = url.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
  const page = `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0; url=${target}"><title>Turnwise</title>\n`
  writeFileSync(file, page, { flag: 'wx', mode: 0o600 })
  const remove = () => rmSync(file, { force: true })
  const timer = setTimeout(remove, pageMs)
  timer.unref()
  return {
    file,
    [Symbol.dispose]() {
      clearTimeout(timer)
      remove()
    },
  }
}

const sources = ['src/**/*.*', '*.config.ts', 'package.json']
const results = ['out/main/index.js', 'out/preload/index.cjs', 'out/renderer/index.html']

/** Lists files missing from a built window; empty if it is complete. */
export const missingBuild = (folder: string = applicationFolder): string[] =>
  results.filter((file) => !existsSync(path.join(folder, file)))

/** True if a build result of a folder is missing or older than its sources. */
export function isStale(folder: string): boolean {
  const changed = (file: string) => statSync(path.join(folder, file), { throwIfNoEntry: false })?.mtimeMs ?? 0
  const newest = Math.max(...globSync(sources, { cwd: folder }).map(changed))
  return results.some((file) => changed(file) < newest)
}

/** Builds the window if necessary, in a checkout with all packages. Errors: AppError 'api/cancelled' after a Ctrl-C. */
export async function buildWindow(output: Output, folder: string = applicationFolder): Promise<void> {
  const builder = path.join(folder, 'node_modules/electron-vite/bin/electron-vite.js')
  const isCheckout = existsSync(path.join(folder, 'src/renderer')) && existsSync(builder)
  if (isCheckout && isStale(folder)) {
    output.note('Building the window; this takes half a minute and happens only once.')
    // Paths in its configuration are relative to its working folder.
    const args = [builder, 'build', '--logLevel', 'error']
    const exit = await runProgram({ file: process.execPath, args, cwd: folder })
    if (exit !== null && exit.signal !== null)
      throw new AppError('api/cancelled', 'Building the window was stopped.', 'The next start builds it.')
  }
}

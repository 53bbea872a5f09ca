/**
 * Takes every picture in docs/images anew, and the animated one of README: `npm run docs:pictures -- --model MODEL`, where
 * MODEL is a folder or GGUF file of SmolLM2-135M-Instruct, on an otherwise idle machine. It trains a history first, in a
 * temporary directory or in DIR of `--data DIR`, where it is found again the next time.
 * `--only NAME` takes one picture, such as `reward-light`; `--busy` takes them on a busy machine, to try the script.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { picturesIn } from '../docs/pictures.ts'

const { values } = parseArgs({
  options: {
    model: { type: 'string' },
    data: { type: 'string' },
    out: { type: 'string', default: 'docs/images' },
    only: { type: 'string', multiple: true, default: [] },
    busy: { type: 'boolean', default: false },
  },
})

const animated = 'first-run'
const here = import.meta.dirname
const images = path.resolve(here, '../../docs/images')
const names = [...new Set([...picturesIn(images).map((file) => path.parse(file).name), animated])].filter(
  (name) => values.only.length === 0 || values.only.includes(name),
)

function run(script: string, words: readonly string[]): boolean {
  const command = [path.join(here, script), ...words]
  const isDone = spawnSync(process.execPath, command, { stdio: 'inherit' }).status === 0
  if (!isDone) process.exitCode = 1
  return isDone
}

const folder = path.resolve(values.data ?? mkdtempSync(path.join(tmpdir(), 'turnwise-pictures-')))
const history = path.join(folder, 'history')
const busy = values.busy ? ['--busy'] : []
const output = ['--out', path.resolve(values.out), ...busy]

/** Scenes of the pictures whose names end in a theme. */
const scenesIn = (theme: string): string[] =>
  names.flatMap((name) => (name.endsWith(`-${theme}`) ? [name.slice(0, -theme.length - 1)] : []))

function take(data: string, theme: string, scenes: readonly string[]): void {
  if (scenes.length === 0) return
  const chosen = scenes.flatMap((scene) => ['--only', scene])
  run('take.ts', ['--data', data, '--theme', theme, '--size', '1280x800', ...chosen, ...output])
}

const begun = performance.now()
if (!existsSync(history)) {
  if (names.includes('run-real-light') && values.model === undefined)
    throw new Error(
      'Name a folder or GGUF file of SmolLM2-135M-Instruct with --model: run-real shows how it learns.',
    )
  if (!run('history.ts', [history, ...(values.model === undefined ? [] : [values.model])]))
    throw new Error(`The history was not finished; delete ${history} before the next try.`)
}
mkdirSync(values.out, { recursive: true })
for (const theme of ['light', 'dark'])
  take(
    history,
    theme,
    scenesIn(theme).filter((scene) => scene !== 'home'),
  )
// Home is shown as it is before the first run.
for (const theme of ['light', 'dark'])
  take(
    path.join(folder, `empty-${theme}`),
    theme,
    scenesIn(theme).filter((scene) => scene === 'home'),
  )
if (names.includes(animated)) run('animate.ts', ['--name', animated, ...output])
const minutes = (performance.now() - begun) / 60_000
console.log(
  `${String(names.length)} pictures${process.exitCode === 1 ? ', of which some failed,' : ''} in ${minutes.toFixed(1)} min, from ${folder}`,
)

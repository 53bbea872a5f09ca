/** What has to be there for a skipped test to run, as a command where one does it. */
import type { Skip } from './report.ts'

/** The others by name, and one for each file and longer run that has more of it, with their number. */
export function countedByFile(skips: readonly Skip[]): Skip[] {
  const counts = new Map<string, number>()
  const others = skips.filter(({ file, name, reason }) => {
    // One that only the long run has may stand below a title that only the whole one has.
    const run = ['long', 'whole'].find((each) => `${reason} ${name}`.includes(`in the ${each} run only`))
    if (run === undefined) return true
    const key = `in the ${run} run only: ${file}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
    return false
  })
  const counted = [...counts].map(([key, count]) => ({
    file: '',
    name: `${String(count)} ${key}`,
    reason: '',
  }))
  return [...others, ...counted]
}

/** The first that fits the name or the reason of a test. */
const ways: readonly (readonly [pattern: RegExp, way: string])[] = [
  [/in the long run only/, 'npm run test:long'],
  [/in the whole run only/, 'npm run test:whole'],
  [/no browser/i, 'install Chromium, or name one in CHROMIUM, then npm run test:e2e'],
  [
    /agilerl/i,
    'scripts/python/setup .venv-agilerl agilerl, then TURNWISE_PYTHON_AGILERL=.venv-agilerl/bin/python npm test',
  ],
  [
    /\b(trl|peft|torch|accelerate)\b/i,
    'scripts/python/setup, then TURNWISE_PYTHON=.venv/bin/python npm test',
  ],
  [/gymnasium|reasoning.?gym/i, 'pip install gymnasium reasoning-gym in the environment of TURNWISE_PYTHON'],
  [/wandb/i, 'pip install wandb==0.29.0 in the environment of TURNWISE_PYTHON'],
  [/tensorboard/i, 'pip install tensorboard in the environment of TURNWISE_PYTHON'],
  [/\bray\b/i, 'pip install "ray[default]" in the environment of TURNWISE_PYTHON'],
  [/python|venv/i, 'install Python 3.9 or newer with venv'],
  [/electron/i, 'npx install-electron, then npm run test:e2e'],
  [/software gpu|swiftshader|webgpu/i, 'install Debian’s chromium-common and libvulkan1'],
  [/isolated|network of its own/i, 'run as root with iproute2 installed'],
  [/smollm2/i, 'name the folder of the model in TURNWISE_SMOLLM2'],
  [/golden/i, 'name the folder of the reference numbers in GOLDEN_DIR'],
  [/full disk|disk of its own|mount/i, 'run as root, where a file system can be mounted'],
  [/vnni|amx|bytes/i, 'a processor with AVX-512-VNNI or AMX'],
]

/** A clause for the end of a line, empty where nothing is known. */
export function wayToRun({ name, reason }: Skip): string {
  const found = ways.find(([pattern]) => pattern.test(`${reason} ${name}`))?.[1]
  const why = reason === '' ? '' : ` (${reason})`
  return found === undefined ? why : `${why} — to run it: ${found}`
}

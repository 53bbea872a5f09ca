/**
 * The built-in reward functions as one file of plain JavaScript, for projects that are handed over to other tools: those
 * run it in a Node of their own. Writes resources/projects/rewards/builtIns.mjs; a test tells when that is out of date.
 */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

const root = fileURLToPath(new URL('../../', import.meta.url))

export const builtInsFile = path.join(root, 'resources/projects/rewards/builtIns.mjs')

const heading =
  '// Generated from src/rl/environments by scripts/projects/builtInRewards.ts. Not to be edited by hand.\n'

/** The file's text. */
export async function builtInRewardsSource(): Promise<string> {
  const result = await build({
    configFile: false,
    root,
    logLevel: 'silent',
    build: {
      write: false,
      minify: false,
      target: 'es2022',
      lib: { entry: path.join(root, 'src/rl/environments/registry.ts'), formats: ['es'] },
    },
  })
  const outputs = Array.isArray(result) ? result : [result]
  const [chunk] = outputs.flatMap((each) => ('output' in each ? each.output : []))
  if (chunk?.type !== 'chunk') throw new Error('Expected one chunk of code.')
  return heading + chunk.code
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  writeFileSync(builtInsFile, await builtInRewardsSource())

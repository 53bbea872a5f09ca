/**
 * What projects that are handed over to other tools bring along as files of plain JavaScript, which run in a Node of their own: the
 * built-in reward functions, and the virtual machine that reward code runs in. Writes resources/projects/rewards/builtIns.mjs and
 * machine.mjs; a test tells when one is out of date.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

const root = fileURLToPath(new URL('../../', import.meta.url))

interface Generated {
  readonly file: string
  readonly entry: string
  /** Stands at the head of the file, as a comment. */
  readonly license: string | null
}

export const generatedFiles: readonly Generated[] = [
  {
    file: path.join(root, 'resources/projects/rewards/builtIns.mjs'),
    entry: 'src/rl/environments/registry.ts',
    license: null,
  },
  {
    file: path.join(root, 'resources/projects/rewards/machine.mjs'),
    entry: 'src/host/sandbox/machine.ts',
    license: 'node_modules/@jitl/quickjs-wasmfile-release-sync/LICENSE',
  },
]

/** Leaves the virtual machine a file of its own beside the one that loads it: the bundler would write it into the text. */
const wasmBeside = {
  name: 'wasm-beside',
  enforce: 'pre',
  transform: (code: string): string =>
    code
      .replace(
        "import.meta.resolve('@jitl/quickjs-wasmfile-release-sync/wasm')",
        "new URL('quickjs.wasm', import.meta.url)",
      )
      .replace('new URL("emscripten-module.wasm",import.meta.url)', '""'),
} as const

/** The file's text. */
export async function generatedText({ entry, license }: Generated): Promise<string> {
  const result = await build({
    configFile: false,
    root,
    logLevel: 'silent',
    plugins: [wasmBeside],
    build: {
      write: false,
      minify: false,
      target: 'es2022',
      lib: { entry: path.join(root, entry), formats: ['es'] },
      rolldownOptions: { external: /^node:/, output: { codeSplitting: false } },
    },
  })
  const outputs = Array.isArray(result) ? result : [result]
  const [chunk] = outputs.flatMap((each) => ('output' in each ? each.output : []))
  if (chunk?.type !== 'chunk') throw new Error('Expected one chunk of code.')
  const heading = `// Generated from ${entry} by scripts/projects/generated.ts. Not to be edited by hand.\n`
  const terms = license === null ? '' : `/*\n${readFileSync(path.join(root, license), 'utf8').trim()}\n*/\n`
  // Packages may be installed outside this folder, with a link to them.
  return heading + terms + chunk.code.replaceAll(/^\/\/ (?:\.\.\/)+\S*?(?=node_modules\/)/gm, '// ')
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const each of generatedFiles) writeFileSync(each.file, await generatedText(each))

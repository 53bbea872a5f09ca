/**
 * Prepares the comparison once: a Python environment, the common models with random weights, and what each peer reads.
 *
 *   node setup.mjs [shape …]        (default: all that PyTorch reads too; about 7 GB for qwen2.5-0.5b)
 *
 * PEERS_PYTHON names a Python that has requirements.txt already; else .venv is made here.
 */
import { existsSync } from 'node:fs'
import {
  ggufShapes,
  modelFolder,
  pinnedNode,
  python,
  runHere,
  shapes,
  stepShapes,
  turnwise,
  venvPython,
} from './places.mjs'

const asked = process.argv.slice(2)
const known = [...new Set([...shapes, ...stepShapes, ...ggufShapes])]
const chosen = asked.length ? asked : known.filter((shape) => !ggufShapes.includes(shape))
const needsPython = chosen.some((shape) => !ggufShapes.includes(shape))
for (const shape of asked) if (!known.includes(shape)) throw new Error(`Shapes: ${known.join(', ')}; not ${shape}.`)

if (needsPython && !process.env.PEERS_PYTHON && !existsSync(venvPython)) {
  runHere('python3', ['-m', 'venv', '.venv'])
  runHere(venvPython, ['-m', 'pip', 'install', '-r', 'requirements.txt'])
}
for (const shape of chosen) {
  const folder = modelFolder(shape)
  if (!existsSync(`${folder}/hf/config.json`))
    runHere(process.execPath, [turnwise, 'model', 'random', '--shape', shape, '--out', `${folder}/hf`])
  const files = ['q4_0', 'q8_0'].map((name) => `${folder}/gguf/${name}.gguf`)
  const isRead = !shapes.includes(shape) || files.every((file) => existsSync(file))
  if (ggufShapes.includes(shape) && !existsSync(files[1]))
    runHere(pinnedNode(), ['../host/writeGguf.ts', `${folder}/hf`, `${folder}/gguf`])
  if (!isRead) runHere(python(), ['convert.py', `${folder}/hf`, folder])
  console.log(`${shape}: ${folder}`)
}

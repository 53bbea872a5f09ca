/** Where things are, and how to start them. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { resolve } from 'node:path'

export const here = fileURLToPath(new URL('.', import.meta.url))
export const turnwise = resolve(here, '../../bin/turnwise.mjs')
export const shapes = ['smol-30m', 'qwen2.5-0.5b']
/** A whole step is measured on these too; no other peer reads them. */
export const stepShapes = ['smol-30m', 'smollm2-135m', 'granite-3.1-1b-a400m']
/** Decoded by ours and llama.cpp alone, from files that `turnwise` writes: no other peer reads them. */
export const ggufShapes = ['qwen3.5-0.8b']
export const venvPython = resolve(here, '.venv/bin/python')
export const dataFolder = resolve(here, '.models/turnwise')

/** hf/, gguf/ and onnx/ of a shape. PEERS_MODELS moves them to another disk. */
export const modelFolder = (shape) => resolve(process.env.PEERS_MODELS ?? resolve(here, '.models'), shape)

export const python = () => process.env.PEERS_PYTHON ?? venvPython

/** A Python with AgileRL, which asks for versions of its own; null: it does not take part. */
export const agilePython = () => process.env.PEERS_AGILERL ?? null

/** tcmalloc, if this machine has it: PyTorch's tuning guide advises it, and it halves PyTorch's memory here. */
export function tcmalloc() {
  const name = 'libtcmalloc_minimal.so.4'
  const places = [process.env.PEERS_TCMALLOC, `/usr/lib/x86_64-linux-gnu/${name}`, `/usr/lib64/${name}`]
  return places.find((place) => place && existsSync(place)) ?? null
}

export const runHere = (command, args) => execFileSync(command, args, { cwd: here, stdio: 'inherit' })

/** The Node that the product runs on, where npm has brought it; else this one. */
export function pinnedNode() {
  const path = resolve(here, `../../node_modules/node-${process.platform}-${process.arch}/bin/node`)
  return existsSync(path) ? path : process.execPath
}

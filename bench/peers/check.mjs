/**
 * Shows that all peers compute the same model: greedy ids of each against transformers' own.
 *
 *   node check.mjs [shape …]
 *
 * llama.cpp keeps its cache in half precision, Q8_0 and Q4_0 round the weights, so they may part from the others late or soon.
 */
import { execFileSync } from 'node:child_process'
import { here, modelFolder, python, shapes } from './places.mjs'

const node = process.execPath
const peers = {
  transformers: [python(), 'decode_torch.py', '--implementation', 'transformers'],
  pytorch: [python(), 'decode_torch.py'],
  'transformers.js': [node, 'decode-transformers-js.mjs'],
  'llama.cpp F32': [node, 'decode-llama-cpp.mjs'],
  'llama.cpp Q8_0': [node, 'decode-llama-cpp.mjs', '--precision', 'int8'],
  'llama.cpp Q4_0': [node, 'decode-llama-cpp.mjs', '--precision', 'int4'],
}

function greedyIds([command, ...args], shape) {
  const flags = ['--model', modelFolder(shape), '--batch', '2', '--check']
  const output = execFileSync(command, [...args, ...flags], { cwd: here, stdio: ['ignore', 'pipe', 'ignore'] })
  return JSON.parse(output.toString().trim().split('\n').at(-1)).ids
}

/** Ids that agree before the first that does not. */
const agreement = (row, wanted) => {
  const index = row.findIndex((id, i) => id !== wanted[i])
  return index < 0 ? wanted.length : index
}

const mustAgree = { transformers: Infinity, pytorch: Infinity, 'transformers.js': Infinity, 'llama.cpp F32': 8 }
let failed = false
for (const shape of process.argv.length > 2 ? process.argv.slice(2) : shapes) {
  const wanted = greedyIds(peers.transformers, shape)
  for (const [name, command] of Object.entries(peers)) {
    const rows = greedyIds(command, shape).map((row, i) => agreement(row, wanted[i]))
    const needed = Math.min(mustAgree[name] ?? 0, wanted[0].length)
    failed ||= rows.some((count) => count < needed)
    console.log(`${shape}  ${name.padEnd(16)} agrees for ${rows.join(' and ')} of ${wanted[0].length} tokens`)
  }
}
if (failed) process.exitCode = 1

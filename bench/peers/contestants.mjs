/** Who takes part in an item: name → command line and how to read what it prints. */
import { oursCommand, readOurs } from './ours.mjs'
import { agilePython, ggufShapes, modelFolder, python, tcmalloc } from './places.mjs'
import { oursStep, promptsFile, readOursStep } from './step.mjs'

const lastLine = (output) => JSON.parse(output.trim().split('\n').at(-1))

const readTorchTraining = (output) => {
  const { peakAnonymousBytes: anonymousBytes, ...rest } = lastLine(output)
  return { ...rest, anonymousBytes }
}

const ours = (activations, base) => (item) => ({
  ...oursCommand(item, activations, base),
  read: (output) => readOurs(item, output),
})

const torchTraining = (flags, preload) => (item) => ({
  command: python(),
  args: ['train_torch.py', ...shared(item), '--rows', item.rows, '--length', item.length, '--steps', item.steps, ...flags],
  env: preload ? { LD_PRELOAD: tcmalloc() } : {},
  read: readTorchTraining,
})

const decoding =
  (command, script, ...flags) =>
  (item) => ({
    command: command(),
    args: [script, ...shared(item), '--batch', item.batch, '--precision', item.precision, '--repeats', item.steps, ...flags],
    read: lastLine,
  })

const ourStep = (settings) => (item) => ({
  ...oursStep(item, settings),
  read: (output) => readOursStep(item, output),
})

const stepping =
  (command, script, flags = [], preload = true) =>
  (item) => ({
    command: command(),
    args: [
      ...[script, ...shared(item), '--prompts', promptsFile(item), '--per-step', item.prompts],
      ...['--new-tokens', item.newTokens, '--steps', item.steps, ...flags],
    ],
    env: preload ? { LD_PRELOAD: tcmalloc() } : {},
    read: lastLine,
  })

const shared = ({ shape, threads }) => ['--model', modelFolder(shape), '--shape', shape, '--threads', threads]
const node = () => process.execPath
const fused = ['--checkpoint', '--head', 'fused']
/** Layers computed again, like the peer's, and what a run does by itself where there is memory. */
const both = ['turnwise (recompute)', 'turnwise (save)']
/** With a base in 8 bits, too, which learns in whole numbers where the processor is fast at it. */
const recomputed = ['turnwise (recompute)', 'turnwise int8 (recompute)']
const saved = ['turnwise (save)', 'turnwise int8 (auto)']
const bf16 = ['--dtype', 'bfloat16']
const steps = ['turnwise', 'turnwise (int8 rollouts)', 'turnwise int8']

/**
 * `against`: which of ours are divided by a peer. `isExtra`: only with --all or by name.
 * PyTorch trains with glibc's malloc as pip leaves it, and with tcmalloc where there is one.
 */
export const contestants = {
  train: {
    'turnwise (recompute)': { start: ours('recompute') },
    'turnwise (save)': { start: ours('save') },
    'turnwise int8 (recompute)': { start: ours('recompute', 'int8') },
    'turnwise int8 (auto)': { start: ours('auto', 'int8') },
    'pytorch-checkpoint': { start: torchTraining(['--checkpoint']), against: both },
    'pytorch-checkpoint-tcmalloc': {
      start: torchTraining(['--checkpoint'], true),
      against: both,
      needs: tcmalloc,
    },
    'pytorch-checkpoint-fused-head': {
      start: torchTraining(fused),
      against: ['turnwise (recompute)'],
      isExtra: true,
    },
    'pytorch-checkpoint-fused-head-tcmalloc': {
      start: torchTraining(fused, true),
      against: ['turnwise (recompute)'],
      needs: tcmalloc,
      isExtra: true,
    },
    'pytorch-bf16-checkpoint-tcmalloc': {
      start: torchTraining(['--checkpoint', ...bf16], true),
      against: [...recomputed, ...saved],
      needs: tcmalloc,
    },
    'pytorch-bf16-checkpoint': {
      start: torchTraining(['--checkpoint', ...bf16]),
      against: [...recomputed, ...saved],
    },
    'pytorch-bf16': { start: torchTraining(bf16), against: saved, isExtra: true },
    'pytorch-bf16-tcmalloc': { start: torchTraining(bf16, true), against: saved, needs: tcmalloc, isExtra: true },
    pytorch: { start: torchTraining([]), against: ['turnwise (save)'], isExtra: true },
    'pytorch-tcmalloc': { start: torchTraining([], true), against: ['turnwise (save)'], needs: tcmalloc, isExtra: true },
  },
  step: {
    turnwise: { start: ourStep({}) },
    'turnwise (int8 rollouts)': { start: ourStep({ rollout: 'int8' }) },
    'turnwise int8': { start: ourStep({ base: 'int8' }) },
    'trl-tcmalloc': { start: stepping(python, 'step_trl.py'), against: steps, needs: tcmalloc },
    trl: { start: stepping(python, 'step_trl.py', [], false), against: steps, isExtra: true },
    'trl-bf16-tcmalloc': { start: stepping(python, 'step_trl.py', bf16), against: steps, needs: tcmalloc },
    'trl-bf16': { start: stepping(python, 'step_trl.py', bf16, false), against: steps, isExtra: true },
    'agilerl-tcmalloc': {
      start: stepping(agilePython, 'step_agilerl.py'),
      against: steps,
      needs: () => agilePython() && tcmalloc(),
    },
    agilerl: {
      start: stepping(agilePython, 'step_agilerl.py', [], false),
      against: steps,
      needs: agilePython,
      isExtra: true,
    },
  },
  decode: {
    turnwise: { start: ours('recompute') },
    'transformers.js': { start: decoding(node, 'decode-transformers-js.mjs'), against: ['turnwise'] },
    'transformers.js (greedy)': {
      start: decoding(node, 'decode-transformers-js.mjs', '--sampling', 'greedy'),
      against: ['turnwise'],
    },
    'llama.cpp': {
      start: decoding(node, 'decode-llama-cpp.mjs'),
      against: ['turnwise'],
      precisions: ['f32', 'int8', 'int4'],
    },
    'llama.cpp (Q4_0 throughout)': {
      start: decoding(node, 'decode-llama-cpp.mjs', '--gguf', 'q4_0'),
      against: ['turnwise'],
      precisions: ['int4'],
    },
    pytorch: { start: decoding(python, 'decode_torch.py'), against: ['turnwise'] },
  },
}

/** Names that take part in this item: ours and those of `wanted` (empty = the usual ones). */
export function participants(item, wanted, all) {
  const table = contestants[item.kind]
  const peers = Object.keys(table).filter((name) => {
    const { against, isExtra, needs, precisions = ['f32'] } = table[name]
    if (!against || (needs && !needs())) return false
    if (ggufShapes.includes(item.shape) && !name.startsWith('llama.cpp')) return false
    if (item.kind === 'decode' && !precisions.includes(item.precision)) return false
    return wanted.length > 0 ? wanted.includes(name) : all || !isExtra
  })
  return [...new Set(peers.flatMap((name) => table[name].against)), ...peers]
}

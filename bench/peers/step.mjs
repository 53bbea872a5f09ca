/** A whole GRPO step: the prompts that every contestant reads, and Turnwise as an ordinary run. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { median } from './median.mjs'
import { randomPrompts } from './measure.mjs'
import { dataFolder, modelFolder, pinnedNode, turnwise } from './places.mjs'

export const GROUP = 8
/** As many as a run of ten steps reads. */
const PROMPTS = 32

/** Lower-case letters, which are one token each in the models of setup.mjs. */
export function promptsFile({ prompts, promptTokens }) {
  mkdirSync(dataFolder, { recursive: true })
  const file = `${dataFolder}/prompts-${promptTokens}.jsonl`
  const letters = randomPrompts(PROMPTS * prompts, 29, 1, promptTokens).map((ids) =>
    String.fromCharCode(...ids.map((id) => 94 + id)),
  )
  writeFileSync(file, letters.map((prompt) => JSON.stringify({ prompt }) + '\n').join(''))
  return file
}

/** Differs between different texts. Most tokens of a random model stand for no text, but a group is hardly ever all alike. */
const reward = `export default function hash({ completion }) {
  let state = 2166136261
  for (const character of completion) state = Math.imul(state ^ character.codePointAt(0), 16777619)
  return (state >>> 0) / 4294967296
}
`

const configOf = (item, settings) => ({
  name: 'Step',
  model: `${modelFolder(item.shape)}/hf`,
  data: { train: promptsFile(item), prompt: { column: 'prompt' }, shuffle: false },
  rewards: [{ function: 'reward.js' }],
  adapter: { rank: 16, alpha: 32, targets: 'all-linear' },
  algorithm: { id: 'grpo', settings: { klCoefficient: 0 } },
  rollout: {
    ...{ promptsPerStep: item.prompts, groupSize: GROUP, precision: settings.rollout },
    ...{ temperature: 1, minNewTokens: item.newTokens, maxNewTokens: item.newTokens },
  },
  base: { precision: settings.base },
  optimization: { learningRate: 1e-5 },
  device: { kind: 'cpu', threads: item.threads },
  steps: 1 + item.steps,
  evaluation: { every: 0 },
  checkpoints: { every: 0 },
  seed: 1,
})

/** `rollout`: what generation reads of an exact base; `base`: what generation and learning read. */
export function oursStep(item, { rollout = 'f32', base = 'f32' }) {
  mkdirSync(dataFolder, { recursive: true })
  writeFileSync(`${dataFolder}/reward.js`, reward)
  const file = `${dataFolder}/step-${base}-${rollout}.json`
  writeFileSync(file, JSON.stringify(configOf(item, { rollout, base }), null, 2) + '\n')
  return { command: pinnedNode(), args: [turnwise, '--json', '--data-dir', dataFolder, 'train', file] }
}

/** Seconds from the end of one step to the end of the next, as the peers are timed; the first is not counted. */
export function readOursStep(item, output) {
  const events = output.trim().split('\n').map((line) => JSON.parse(line))
  const steps = events.filter(({ type }) => type === 'step')
  const began = events.find(({ type, phase }) => type === 'status' && phase === 'training')
  const wanted = { steps: item.steps + 1, tokens: item.prompts * GROUP * (item.promptTokens + item.newTokens) }
  for (const [index, { metrics }] of steps.entries()) {
    const isAll =
      metrics['completions/min_length'] === item.newTokens &&
      metrics['completions/max_length'] === item.newTokens &&
      metrics['update/trajectories'] === item.prompts * GROUP &&
      metrics['update/count'] === 1 &&
      metrics.frac_reward_zero_std === 0 && // such a group would not be learned from
      metrics.num_tokens === (index + 1) * wanted.tokens
    if (!isAll) throw new Error(`Step ${index + 1} did other work than was asked: ${JSON.stringify(metrics)}`)
  }
  if (steps.length !== wanted.steps) throw new Error(`Expected ${wanted.steps} steps, got ${steps.length}.`)
  const ends = [began, ...steps].map(({ at }) => at / 1000)
  const secondsOfSteps = ends.slice(1).map((end, index) => end - ends[index])
  const counted = (name) => median(steps.slice(1).map(({ metrics }) => metrics[name]))
  const secondsPerStep = median(secondsOfSteps.slice(1))
  return {
    ...{ secondsPerStep, stepsPerSecond: 1 / secondsPerStep, secondsOfSteps },
    ...{ rolloutSeconds: counted('time/rollout'), updateSeconds: counted('time/update') },
  }
}

/** Complete GRPO steps as in a run: rollout, rewards, advantages, gradients and update. */
import { parseRunConfig } from '#shared/runConfig.ts'
import { algorithmById } from '#rl/algorithms/registry.ts'
import { eachSample, type RewardFunction } from '#rl/rewards.ts'
import { train } from '#rl/training/train.ts'
import { loadTokenizer } from '#host/models/tokenizerFolder.ts'
import { SEED, median, openPolicy, type Bench } from './benchModel.ts'
import type { StepFigures } from './benchReport.ts'

const [PROMPTS, GROUP, PROMPT_TOKENS, NEW_TOKENS] = [4, 8, 64, 64]

/** Unlike for nearly all completions of a model with random weights, so that groups have something to learn. */
const reward: RewardFunction = {
  id: 'bench',
  description: 'Depends on the length of the text.',
  score: eachSample(({ completion }) => (completion.length % 7) / 6),
}

/** Medians after one step that is not counted. */
export async function stepPart(bench: Bench): Promise<StepFigures> {
  using policy = await openPolicy(bench, 'f32', PROMPTS * GROUP)
  const { tokenizer } = loadTokenizer(bench.directory)
  const config = configOf(bench)
  const algorithm = algorithmById(config.algorithm.id).configure(config.algorithm.settings)
  const rows = Array.from({ length: PROMPTS }, (_, row) => ({ prompt: promptOf(row) }))
  const steps: { seconds: number; rollout: number; update: number }[] = []
  let began = performance.now()
  for await (const event of train({
    config,
    model: { policy, tokenizer, chatTemplate: null, stopIds: [] },
    data: { train: rows, heldOut: [] },
    code: { algorithm, rewards: [{ function: reward, weight: 1, name: 'bench' }] },
    schedule: { learningRatesAt: () => ({ actor: 1e-5, critic: 0 }) },
  })) {
    if (event.type !== 'step') continue
    const seconds = (performance.now() - began) / 1000
    const { 'time/rollout': rollout = NaN, 'time/update': update = NaN } = event.metrics
    steps.push({ seconds, rollout, update })
    bench.say(`GRPO step ${String(event.step)} of ${String(event.steps)}`)
    began = performance.now()
  }
  const counted = steps.slice(1)
  return {
    completions: PROMPTS * GROUP,
    promptTokens: PROMPT_TOKENS,
    newTokens: NEW_TOKENS,
    seconds: median(counted.map(({ seconds }) => seconds)),
    rolloutSeconds: median(counted.map(({ rollout }) => rollout)),
    updateSeconds: median(counted.map(({ update }) => update)),
  }
}

const configOf = (bench: Bench) =>
  parseRunConfig({
    model: bench.directory,
    data: { train: 'bench' },
    rewards: [{ function: 'bench' }],
    algorithm: { id: 'grpo', settings: { klCoefficient: 0 } },
    rollout: { promptsPerStep: PROMPTS, groupSize: GROUP, maxNewTokens: NEW_TOKENS, temperature: 1 },
    optimization: { weightDecay: 0 },
    evaluation: { every: 0 },
    shownTrajectories: 0,
    steps: 1 + bench.request.steps,
    seed: SEED,
  })

/** A prompt of random models: one token for each byte. */
const promptOf = (row: number): string => String.fromCharCode(97 + row).repeat(PROMPT_TOKENS)

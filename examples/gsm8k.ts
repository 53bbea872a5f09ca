// AReaL's ReMax example on word problems, as a training script: data, rollouts, baseline, loss, optimizer, evaluation, checkpoints.
//   turnwise run examples/gsm8k.ts
import type { ScriptRun } from 'turnwise'

/** Point `model` and `data` at a real model and at GSM8K; the starter model and its exercises show the loop in a minute. */
export const config = {
  name: 'ReMax by a script',
  model: '../resources/starter',
  data: {
    train: '../resources/demo/train.jsonl',
    heldOut: '../resources/demo/heldout.jsonl',
    prompt: { messages: [{ role: 'user', content: '{prompt}' }] },
  },
  rewards: [{ function: 'starter-correct', name: 'correct' }],
  algorithm: { id: '../resources/losses/remax.ts' },
  adapter: { rank: 16, alpha: 32, targets: 'all-linear' },
  rollout: { promptsPerStep: 32, groupSize: 2, maxNewTokens: 16 },
  optimization: { learningRate: 0.002, weightDecay: 0, tokenBudget: 4096 },
  evaluation: { every: 0 },
  checkpoints: { every: 5 },
  steps: 20,
  seed: 1,
}

export async function* train({ config, prompts, rollout, learn, stats }: ScriptRun, state = { best: 0 }) {
  let { best } = state
  for (;;) {
    const batch = prompts(config.rollout.promptsPerStep)
    const sampled = await stats.time('rollout', () => rollout(batch))
    const greedy = await stats.time('baseline', () => rollout(batch, { greedy: true }))

    // What a completion earned beyond the greedy answer to its prompt.
    const baselines = new Map(greedy.map(({ prompt, reward }) => [prompt.row, reward.total ?? 0]))
    const judged = sampled.map((each) => ({
      ...each,
      baselineReward: baselines.get(each.prompt.row) ?? null,
    }))
    stats.masked({ 'greedy/reward': [...baselines.values()] })
    stats.masked({ length: sampled.map(({ completionTokens }) => completionTokens) })

    const { reward = 0 } = await stats.time('train_batch', () =>
      learn(judged.filter(({ reward }) => reward.total !== null)),
    )
    best = Math.max(best, reward)
    stats.scalar({ best_reward: best })
    yield { best }
  }
}

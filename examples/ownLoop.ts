// A program with its own training loop: trains the starter model on its exercises for a few steps, prints the reward of each step, and
// compares the base model with the trained one on held-out rows.
//   npm install --ignore-scripts ./turnwise-0.1.0.tgz && npx node ownLoop.ts
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { openPolicy, rollout, train, type DataRow, type RunConfigInput, type TrainingScript } from 'turnwise'

const demo = new URL('resources/demo/', import.meta.resolve('turnwise/package.json'))
const messages = [{ role: 'user', content: '{prompt}' }]
const rewards = [{ function: 'starter-correct', name: 'correct' }]

const config: RunConfigInput = {
  name: 'A loop of its own',
  model: 'starter',
  data: { train: fileURLToPath(new URL('train.jsonl', demo)), prompt: { messages } },
  rewards,
  algorithm: { id: 'grpo', settings: { klCoefficient: 0 } },
  rollout: { promptsPerStep: 16, groupSize: 8, maxNewTokens: 16 },
  optimization: { learningRate: 0.002, weightDecay: 0, tokenBudget: 4096 },
  steps: Number(process.env['STEPS'] ?? 10),
  seed: 1,
}

// Learns only from groups with different rewards: zero-variance groups have no advantage.
const script: TrainingScript = async function* ({ prompts, rollout, learn, stats }) {
  for (;;) {
    const groups = Map.groupBy(await rollout(prompts()), ({ group }) => group)
    const mixed = [...groups.values()].filter(
      (each) => new Set(each.map(({ reward }) => reward.total)).size > 1,
    )
    stats.scalar({ mixed_groups: mixed.length / groups.size })
    await learn(mixed.flat())
    yield
  }
}

let adapter = ''
for await (const event of train(config, { script })) {
  if (event.type === 'checkpoint-saved') adapter = event.directory
  if (event.type !== 'step') continue
  const { reward = 0 } = event.metrics
  console.log(`step ${event.step}  reward ${reward.toFixed(3)}  ${'#'.repeat(Math.round(40 * reward))}`)
}

const heldOut = readFileSync(new URL('heldout.jsonl', demo), 'utf8').split('\n', 64)
const rows = heldOut.map((line) => JSON.parse(line) as DataRow)
const question = { messages: [{ role: 'user', content: 'Sort 5 2 9 1' }] }
for (const subject of [{ model: 'starter' }, { model: 'starter', adapter }]) {
  await using policy = await openPolicy(subject)
  const judging = { data: { prompt: { messages } }, rewards, rollout: { maxNewTokens: 16 } }
  const answered = await rollout(policy, judging, { rows, greedy: true })
  const right = answered.filter(({ reward }) => reward.total === 1).length
  const [answer] = await policy.generate(question, { greedy: true, maxNewTokens: 16 })
  console.log(
    `${subject.adapter ? 'trained' : 'base   '}  ${right} of ${rows.length} right  Sort 5 2 9 1: ${answer?.text}`,
  )
}

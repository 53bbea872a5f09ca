/** Models that a program opens: what they generate is what they score, and runs are opened as they were left. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { evaluate, openPolicy, rollout, train, type RunConfigInput } from '../../src/library/turnwise.ts'

const home = mkdtempSync(path.join(tmpdir(), 'turnwise-policy-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))
const demo = path.join(import.meta.dirname, '../../resources/demo')
const here = { dataDirectory: home, threads: 1 }

const question = { messages: [{ role: 'user', content: 'Sort 5 2 9 1' }] }
const judging = {
  data: { prompt: { messages: [{ role: 'user', content: '{prompt}' }] } },
  rewards: [{ function: 'exact-match' }],
  rollout: { maxNewTokens: 16 },
}
const rows = readFileSync(path.join(demo, 'heldout.jsonl'), 'utf8')
  .split('\n', 12)
  .map((line) => JSON.parse(line) as { prompt: string; answer: string })

const config: RunConfigInput = {
  ...judging,
  model: 'starter',
  data: { ...judging.data, train: path.join(demo, 'train.jsonl') },
  rollout: { promptsPerStep: 8, groupSize: 4, maxNewTokens: 8 },
  optimization: { learningRate: 0.005 },
  device: { threads: 1 },
  steps: 2,
}

test('scores what it generated as it generated it', async () => {
  await using policy = await openPolicy({ model: 'starter' }, here)
  const pieces: string[] = []
  const [first, second] = await policy.generate(question, {
    samples: 2,
    maxNewTokens: 16,
    onText(sample, text) {
      if (sample === 0) pieces.push(text)
    },
  })
  expect(first!.text).toBe(pieces.join(''))
  expect(policy.decode(first!.ids)).toBe(first!.text)
  expect(second!.sample).toBe(1)

  const prompt = policy.encode(question)
  const { logprobs, entropy } = await policy.score([[...prompt, ...first!.ids]])
  expect(logprobs[0]).toHaveLength(prompt.length + first!.ids.length - 1)
  expect(entropy[0]).toHaveLength(logprobs[0]!.length)
  const own = logprobs[0]!.slice(prompt.length - 1)
  for (const [i, logprob] of first!.logprobs.entries()) expect(own[i]).toBeCloseTo(logprob, 4)
  await expect(policy.score([[policy.vocabularySize]])).rejects.toThrow(/outside the vocabulary/)
})

test('answers rows that a program gives, and judges them', async () => {
  const policy = await openPolicy({ model: 'starter' }, here)
  const asked = { rows, greedy: true, dataDirectory: home }
  const trajectories = await rollout(policy, judging, asked)
  expect(trajectories.map(({ prompt }) => prompt.row)).toEqual([...rows.keys()])
  for (const { prompt, completion, reward } of trajectories)
    expect(reward.total).toBe(completion.trim() === rows[prompt.row]!.answer ? 1 : 0)
  const sampled = await rollout(policy, judging, { rows: rows.slice(0, 2), samples: 3, dataDirectory: home })
  expect(sampled.map(({ prompt }) => prompt.row)).toEqual([0, 0, 0, 1, 1, 1])

  const wrong = { ...judging, data: { prompt: { column: 'nothing' } } }
  await expect(rollout(policy, wrong, asked)).rejects.toMatchObject({ code: 'data/invalid' })
  await expect(rollout(policy, { rewards: [{ function: 'none' }] }, asked)).rejects.toMatchObject({
    code: 'config/invalid',
  })
  const last = policy.generate(question, { greedy: true, maxNewTokens: 4 })
  await policy.close()
  expect(await last).toHaveLength(1)
  await expect(policy.generate(question)).rejects.toThrow(/closed/)
})

test('opens and evaluates a run as it was left', async () => {
  let adapter = ''
  for await (const event of train(config, { dataDirectory: home }))
    if (event.type === 'checkpoint-saved') adapter = event.directory
  const run = path.basename(path.dirname(path.dirname(adapter)))
  const probabilities = async (subject: Parameters<typeof openPolicy>[0]) => {
    await using policy = await openPolicy(subject, here)
    return (await policy.score([policy.encode(question)])).logprobs
  }
  const left = await probabilities({ run })
  expect(left).toEqual(await probabilities({ model: 'starter', adapter }))
  expect(left).toEqual(await probabilities({ run, checkpoint: 2 }))
  expect(left).not.toEqual(await probabilities({ model: 'starter' }))

  const file = path.join(home, 'rows.jsonl')
  writeFileSync(file, rows.map((row) => JSON.stringify(row)).join('\n'))
  const data = { ...judging.data, train: file, heldOut: null }
  const result = await evaluate({ run }, { data }, here)
  await using policy = await openPolicy({ run }, here)
  const answered = await rollout(
    policy,
    { ...judging, ...config, data },
    { rows, greedy: true, dataDirectory: home },
  )
  expect(result.rows.map(({ samples }) => samples[0]!.completion)).toEqual(
    answered.map(({ completion }) => completion),
  )
  expect(result.reward!.value).toBeCloseTo(
    answered.reduce((sum, { reward }) => sum + reward.total!, 0) / rows.length,
    12,
  )
  await expect(evaluate({ run: 'none' }, { data }, here)).rejects.toMatchObject({ code: 'run/not-found' })
})

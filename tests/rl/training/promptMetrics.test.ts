import { describe, expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import { type Trajectory, unscored } from '#rl/rollout/trajectory.ts'
import { heldOutPromptMetrics, promptMetrics, statesAnswer } from '#rl/training/promptMetrics.ts'

const config = parseRunConfig({
  model: 'model',
  data: { train: 'rows.jsonl', prompt: { messages: [{ role: 'user', content: '{question}' }] } },
  rewards: [{ function: 'exact-match' }],
})

/** Knows its own markers as one token each, and letters. */
const tokenizer = {
  encode: (text: string) => Int32Array.from(text.match(/<\|(?:user|end|assistant)\|>|./gsu) ?? [], () => 1),
  decode: () => '',
}

const chatTemplate = {
  render: (messages: readonly { readonly content: unknown }[]) =>
    `<|user|>${String(messages[0]?.content)}<|end|><|assistant|>`,
}

const trajectory = (
  row: number,
  text: string,
  answer: unknown,
  rest: Partial<Trajectory> = {},
): Trajectory => ({
  ...unscored,
  prompt: { row, columns: { answer }, text, ids: Int32Array.of(1) },
  group: row,
  ids: new Int32Array(2),
  actionMask: new Uint8Array(1).fill(1),
  turnIds: null,
  samplerLogprobs: null,
  completion: 'c',
  completionTokens: 1,
  stopReason: 'stop-id',
  truncated: false,
  lastState: null,
  episode: null,
  reward: { parts: {}, total: 1, failures: [] },
  turnRewards: [1],
  tokenRewards: null,
  ...rest,
})

const metricsOf = (
  trajectories: readonly Trajectory[],
  template: typeof chatTemplate | null = chatTemplate,
) => promptMetrics(trajectories, { config, model: { tokenizer, chatTemplate: template } })

const asked = (say: (i: number) => string) =>
  Array.from({ length: 8 }, (_, i) => trajectory(i, say(i), `${i + 20}`))

describe('a prompt states its answer', () => {
  test.each([
    ['Add 4 and 5. (answer: 9)', '9'],
    ['Add 4 and 5\nSolution: **9**', '9'],
    ['The correct result is 9. Add 4 and 5.', '9'],
    ['4 + 5 = 9', '9'],
    ['Addiere 4 und 5. Antwort: 9', '9'],
    ['Reverse a b c => c b a<|end|>', 'c b a'],
    ['Say it. Expected: "The answer is 9."', 'The answer is 9.'],
  ])('%s', (prompt, answer) => {
    expect(statesAnswer(prompt, answer)).toBe(true)
  })

  test.each([
    ['Which is larger, 4 or 9?', '9', 'a question that has it in it'],
    ['A) 4\nB) 9\nAnswer with a letter.', '9', 'options'],
    ['What is the capital?\nA) Paris\nB) Rome\nAnswer:', 'A', 'the letter of an option'],
    ['Paris is the capital of France. What is the capital?', 'Paris', 'a passage to read'],
    ['Possible answers: yes, no', 'yes', 'a list of answers'],
    ['Answer 5 questions: …', '5', 'a number of questions'],
    ['The answer is 94. Is it?', '9', 'a part of a number'],
    ['Repeat: apple', 'apple', 'a text to copy'],
  ])('%s — not: %s is only in %s', (prompt, answer) => {
    expect(statesAnswer(prompt, answer)).toBe(false)
  })
})

describe('metrics of prompts', () => {
  test('count prompts once, less those that state another row’s answer as well', () => {
    const told = asked((i) => `Question ${i}. Answer: ${i + 20}`)
    expect(metricsOf([...told, ...told])['prompts/answer_ratio']).toBe(1)
    expect(metricsOf(asked((i) => `Question ${i}`))['prompts/answer_ratio']).toBe(0)
    const listed = asked(
      (i) => `${Array.from({ length: 8 }, (_, k) => `Answer: ${k + 20}`).join('; ')}; ${i}?`,
    )
    expect(metricsOf(listed)['prompts/answer_ratio']).toBe(0)
    expect(heldOutPromptMetrics(told, { config, model: { tokenizer, chatTemplate } })).toEqual({
      'eval_prompts/answer_ratio': 1,
    })
  })

  test('say nothing of rows without answers, or with one for all', () => {
    expect(metricsOf([trajectory(0, 'Why?', null), trajectory(1, 'How?', '')], null)).toEqual({})
    const same = [trajectory(0, 'Answer: yes', 'yes'), trajectory(1, 'Answer: yes', 'yes')]
    expect(metricsOf(same)['prompts/answer_ratio']).toBeUndefined()
  })

  test('look for the model’s own opening of the answer, and for markers that it reads as text', () => {
    const ratio = (text: string) => metricsOf([trajectory(0, text, '1')])['prompts/template_ratio']
    expect(ratio('<|user|>1+0<|end|><|assistant|>')).toBe(1)
    expect(ratio('1+0')).toBe(0)
    expect(ratio('<|im_start|>user\n1+0<|im_end|>\n<|im_start|>assistant\n')).toBe(0)
    expect(ratio('<|system|>Be brief<|end|><|user|>1+0<|end|><|assistant|>')).toBe(0)
    expect(metricsOf([trajectory(0, '1+0', '1')], null)['prompts/template_ratio']).toBeUndefined()
  })

  test('rewards are told apart by whether the answer stands in the completion', () => {
    const scored = (completion: string, total: number | null) =>
      trajectory(0, 'q', '4', { completion, reward: { parts: {}, total, failures: [] } })
    const metrics = metricsOf([scored('It is 4.', 1), scored('4', 0.5), scored('42', 0.2), scored('4', null)])
    expect(metrics).toMatchObject({ 'reward/with_answer': 0.75, 'reward/without_answer': 0.2 })
  })

  test('prompts of an environment are not there to be looked at', () => {
    expect(metricsOf([trajectory(0, '', '4')], null)['prompts/answer_ratio']).toBeUndefined()
  })
})

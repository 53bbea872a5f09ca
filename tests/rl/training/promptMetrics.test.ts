import { describe, expect, test } from 'vitest'
import { randomStream, SequentialRandom } from '#shared/random.ts'
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

/** The definition in one expression, compiled for each answer. */
function isStated(prompt: string, answer: string): boolean {
  const marks = [
    'answers?|solutions?|results?|targets?|labels?|gold|expected|correct|truth|reference|keys?|hints?|output',
    'antwort|lösung|ergebnis|réponse|résultat|respuesta|resultado|risposta|resposta|ответ|答案',
    '=+>?|[-–—]>|→|#{4}|\\\\boxed',
  ].join('|')
  const literal = answer
    .replace(/[.!?]+$/, '')
    .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    .replace(/\s+/g, '\\s+')
  const between = '(?:[\\s:*_"“’\'(\\[{–—-]|is|are|was|be|ist|est|es|è|é|the|answer|output|value)*'
  const end = '(?=[.!?]*\\s*(?:$|[\\n;|)\\]}"”’\'<*_]|[.!?]\\s))'
  const stated = `(?<![\\p{L}])(?:${marks})(?![\\p{L}])${between}(?<![\\p{L}\\p{N}])${literal}${end}`
  return literal !== '' && new RegExp(stated, 'iu').test(prompt)
}

test('an answer is stated where one expression for all of it says so', () => {
  const random = new SequentialRandom(randomStream(7))
  const pick = (from: readonly string[]) => from[random.integer(from.length)] ?? ''
  const some = (from: readonly string[], most: number) =>
    Array.from({ length: 1 + random.integer(most) }, () => pick(from)).join('')
  const answers = [
    '9',
    '1 1',
    'a',
    'İ',
    'ß',
    'Straße',
    'x.',
    'yes !',
    '𝒜',
    '𝒜𝒜',
    'k',
    '(a)',
    ' 9',
    '?',
    'a a',
    'the',
  ]
  const marked = [
    'answer',
    'Answers',
    'lösung',
    '=',
    '=>',
    '→',
    '####',
    '\\boxed',
    '答案',
    'key',
    'RESULT',
    'mark',
  ]
  const others = [
    ' ',
    '\n',
    ':',
    ' is ',
    'the',
    '*',
    '{',
    '}',
    '.',
    '. ',
    ';',
    'e',
    'é',
    '1',
    '9',
    '?',
    'K',
    '\ud835',
    '"',
  ]
  let stated = 0
  for (let row = 0; row < 2000; row++) {
    const answer = some(answers, 2)
    const pieces = [...marked, ...others, answer, answer, answer.toUpperCase(), ...answers]
    const told =
      pick([' ', ': ', ' is *', '']) +
      pick([answer, answer, some(pieces, 3)]) +
      pick(['', '\n', '. ', '?', 'x'])
    const prompt = some(pieces, 6) + pick(marked) + told + some(pieces, 6)
    const expected = isStated(prompt, answer)
    if (expected) stated++
    expect(statesAnswer(prompt, answer), JSON.stringify([prompt, answer])).toBe(expected)
  }
  expect(stated).toBeGreaterThan(100)
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

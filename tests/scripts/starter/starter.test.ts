import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { createChatTemplate } from '#engine/text/chatTemplate.ts'
import { builtInReward } from '#rl/environments/registry.ts'
import { loadTokenizer } from '#host/models/tokenizerFolder.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { trainBpe } from '../../../scripts/starter/bpeTrainer.ts'
import { conversations, makeDemoData, tokenSequence, type DemoRow } from '../../../scripts/starter/corpus.ts'
import { makeExercise, registers, taskNames } from '../../../scripts/starter/exercises.ts'
import { makeTokenizer } from '../../../scripts/starter/starterTokenizer.ts'
import { numberInWords } from '../../../scripts/starter/voices.ts'

const resource = (path: string) => new URL(`../../../resources/${path}`, import.meta.url)
const rows = (path: string): DemoRow[] =>
  readFileSync(resource(path), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as DemoRow)

/** The right answer, worked out from the prompt's words alone. */
function solve({ task, prompt }: { task: string; prompt: string }): string {
  const digits = prompt.match(/\d+/g) ?? []
  switch (task) {
    case 'sort':
      return digits.sort().join(' ')
    case 'reverse':
      return digits.reverse().join(' ')
    case 'largest':
      return digits.sort().at(-1) ?? ''
    case 'add':
      return String(digits.reduce((sum, digit) => sum + Number(digit), 0))
    default: {
      const [, letter = '', spelled = ''] = /(?:the|many) (\w) (?:are )?in ([\w ]+)/i.exec(prompt) ?? []
      return String(spelled.split(' ').filter((other) => other === letter).length)
    }
  }
}

describe('exercises', () => {
  const random = new SequentialRandom(randomStream(5))
  const some = Array.from({ length: 2000 }, () => makeExercise(random))

  test('their answers are right, their slips are wrong', () => {
    for (const exercise of some) {
      expect(exercise.answer, exercise.prompt).toBe(solve(exercise))
      expect(exercise.slip, exercise.prompt).not.toBe(exercise.answer)
    }
  })

  test('answers earn both rewards; slips earn the format only', async () => {
    const score = async (id: string, completion: string, answer: string) => {
      const [found] = await builtInReward(id).score([{ prompt: '', completion, row: { answer }, step: 1 }])
      return found && 'value' in found ? found.value : null
    }
    for (const { answer, slip } of some.slice(0, 200)) {
      expect(await score('starter-correct', answer, answer)).toBe(1)
      expect(await score('starter-format', answer, answer)).toBe(1)
      expect(await score('starter-correct', slip, answer)).toBe(0)
      expect(await score('starter-format', slip, answer)).toBe(1)
    }
  })

  test('cover every task in every register', () => {
    expect(new Set(some.map(({ task, register }) => `${task} ${register}`)).size).toBe(
      taskNames.length * registers.length,
    )
  })
})

test.each([
  [0, 'zero'],
  [13, 'thirteen'],
  [40, 'forty'],
  [98, 'ninety eight'],
])('%i in words is %s', (value, words) => expect(numberInWords(value)).toBe(words))

describe('trainBpe', () => {
  const train = (texts: string[], vocabSize = 260) =>
    trainBpe(texts, { vocabSize, specialTokens: ['<|end|>'] }) as {
      model: { merges: string[][]; vocab: object }
    }

  test('merges the most frequent pair first, ties in order', () => {
    expect(train(['abab cd', 'ab cd']).model.merges[0]).toEqual(['a', 'b'])
    expect(train(['xy ab xy ab']).model.merges[0]).toEqual(train(['ab xy ab xy']).model.merges[0])
  })

  test('stops at the size asked for, or when no pair occurs twice', () => {
    expect(Object.keys(train(['hello hello'], 259).model.vocab)).toHaveLength(259)
    expect(train(['abc']).model.merges).toEqual([])
  })

  test('the same texts give the same file', () => {
    expect(JSON.stringify(train(['one two', 'two']))).toBe(JSON.stringify(train(['one two', 'two'])))
  })
})

describe('corpus', () => {
  const demo = makeDemoData(7, { train: 1200, heldout: 150 })
  const corpus = (count: number) => [...conversations(12, demo.heldoutContents).take(count)]

  test('holds no held-out exercise, in any phrasing', () => {
    for (const { exercise } of corpus(3000)) expect(demo.heldoutContents.has(exercise.content)).toBe(false)
    const prompts = new Set(demo.train.map(({ prompt }) => prompt))
    expect(demo.heldout.filter(({ prompt }) => prompts.has(prompt))).toEqual([])
  })

  test('answers plainly and rightly between a quarter and a half of the time', () => {
    const many = corpus(6000)
    for (const register of registers) {
      const heard = many.filter(({ exercise }) => exercise.register === register)
      const share =
        heard.filter(({ exercise, completion }) => completion === exercise.answer).length / heard.length
      expect(share, register).toBeGreaterThan(0.2)
      expect(share, register).toBeLessThan(0.55)
    }
  })

  test('becomes sequences that learn the completion and its end only', () => {
    const { encoder, tokenizer } = makeTokenizer(11, demo.heldoutContents)
    for (const conversation of corpus(50)) {
      const { ids, actionMask } = tokenSequence(encoder, conversation)
      const learned = ids.subarray(1).filter((_, at) => actionMask[at] === 1)
      expect(tokenizer.decode(learned, { skipSpecialTokens: false })).toBe(
        `${conversation.completion}<|end|>`,
      )
      expect(learned.length).toBeLessThanOrEqual(12)
    }
  })
})

describe('bundled files', () => {
  const demo = makeDemoData(7, { train: 1200, heldout: 150 })

  test('the demo data set is what the generators make', () => {
    expect(rows('demo/train.jsonl')).toEqual(demo.train)
    expect(rows('demo/heldout.jsonl')).toEqual(demo.heldout)
  })

  test('every row has the right answer', () => {
    for (const row of [...rows('demo/train.jsonl'), ...rows('demo/heldout.jsonl')]) {
      expect(row.answer, row.prompt).toBe(solve(row))
    }
  })

  test('the tokenizer is what the trainer makes, and its template what the corpus was written with', () => {
    const made = makeTokenizer(11, demo.heldoutContents)
    const { tokenizer, chatTemplate } = loadTokenizer(resource('starter').pathname)
    expect(JSON.parse(readFileSync(resource('starter/tokenizer.json'), 'utf8'))).toEqual(made.json)
    expect(
      createChatTemplate({ tokenizerConfig: made.config, templateFile: null, where: 'made' }),
    ).not.toBeNull()
    const prompt =
      chatTemplate?.render([{ role: 'user', content: 'Sort 7 2 9' }], { addGenerationPrompt: true }) ?? ''
    expect(tokenizer.encode(prompt, { addSpecialTokens: false })).toEqual(made.encoder.prompt('Sort 7 2 9'))
  })
})

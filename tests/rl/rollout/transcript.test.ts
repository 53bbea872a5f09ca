import { describe, expect, test } from 'vitest'
import {
  masksOf,
  openTranscript,
  type Transcript,
  windowed,
  withFeedback,
  withGenerated,
} from '#rl/rollout/transcript.ts'
import { createTurnText, type TurnTextOptions } from '#rl/rollout/turnText.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'

/** Ids tell where they are from: 1.. the first prompt, 100.. turns, 200.. feedback. */
function randomTranscript(seed: number) {
  const random = new SequentialRandom(randomStream(seed))
  const run = (from: number) =>
    Int32Array.from({ length: 1 + random.integer(4) }, () => from + random.integer(9))
  const parts = [run(1)]
  let transcript: Transcript = openTranscript(parts[0]!)
  for (let turn = 0; turn < 1 + random.integer(5); turn++) {
    parts.push(run(100), run(200))
    transcript = withFeedback(withGenerated(transcript, parts.at(-2)!), parts.at(-1)!)
  }
  return { transcript, parts }
}

const joined = (parts: readonly Int32Array[]): number[] => parts.flatMap((part) => [...part])

describe('transcripts of random episodes', () => {
  test.each(Array.from({ length: 20 }, (_, seed) => seed))('seed %d', (seed) => {
    const { transcript, parts } = randomTranscript(seed)
    const { ids, turns } = transcript
    const { actionMask, turnIds } = masksOf(transcript)
    expect([...ids]).toEqual(joined(parts))
    expect([actionMask.length, turnIds.length]).toEqual([ids.length - 1, ids.length - 1])
    // A token is an action if and only if it was generated, and belongs to the turn it was generated in.
    expect([...actionMask]).toEqual([...ids.slice(1)].map((id) => Number(id >= 100 && id < 200)))
    turns.forEach(({ start, end }, turn) => {
      expect([...ids.slice(start, end)]).toEqual([...parts[1 + 2 * turn]!])
      expect(new Set(turnIds.slice(start - 1, end - 1))).toEqual(new Set([turn]))
    })
    expect(turnIds.filter((turn) => turn >= 0)).toHaveLength(actionMask.reduce((sum, one) => sum + one, 0))
  })

  test.each(Array.from({ length: 20 }, (_, seed) => seed))('windows hold what is newest, seed %d', (seed) => {
    const { transcript, parts } = randomTranscript(seed)
    for (let budget = 0; budget <= transcript.ids.length; budget++) {
      const seen = windowed(transcript, budget)
      if (budget < parts[0]!.length) {
        expect(seen).toBeNull()
        continue
      }
      expect(seen!.length).toBeLessThanOrEqual(budget)
      // The fewest whole turns are left out.
      const turns = parts.slice(1)
      const fits = Array.from({ length: turns.length / 2 + 1 }, (_, k) =>
        joined([parts[0]!, ...turns.slice(2 * k)]),
      )
      expect([...seen!]).toEqual(fits.find(({ length }) => length <= budget))
    }
  })
})

describe('text of turns', () => {
  const specials: Readonly<Record<string, number>> = { '<|im_start|>': 1000, '<|im_end|>': 1001 }
  const names = new Map(Object.entries(specials).map(([name, id]) => [id, name]))
  const tokenizer: TurnTextOptions['tokenizer'] = {
    encode: (text) =>
      Int32Array.from(
        text.match(/<\|im_\w+\|>|./gs) ?? [],
        (piece) => specials[piece] ?? piece.charCodeAt(0),
      ),
    decode: (ids, { skipSpecialTokens }) =>
      Array.from(ids, (id) => names.get(id) ?? String.fromCharCode(id))
        .filter((piece) => !(skipSpecialTokens && piece in specials))
        .join(''),
  }
  const chatTemplate: TurnTextOptions['chatTemplate'] = {
    render: (messages, { addGenerationPrompt }) =>
      messages.map(({ role, content }) => `<|im_start|>${role}\n${content.trim()}<|im_end|>\n`).join('') +
      (addGenerationPrompt ? '<|im_start|>assistant\n' : ''),
  }
  const options = { tokenizer, chatTemplate, applyChatTemplate: true, strictBoundary: true }
  const whole = { skipSpecialTokens: false }
  const textOf = (ids: Iterable<number>) => tokenizer.decode(ids, whole)

  test('what stands between two turns is what the template writes there', () => {
    const text = createTurnText(options)
    const { ids } = text.opening('hi')
    expect(textOf(ids)).toBe('<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n')
    const conversation = ['user', 'assistant', 'user'].map((role, i) => ({
      role,
      content: ['hi', 'yo', 'so?'][i]!,
    }))
    const expected = chatTemplate.render(conversation, { addGenerationPrompt: true })
    expect(
      textOf([...ids, ...tokenizer.encode('yo', { addSpecialTokens: false }), ...text.feedback('so?', 111)]),
    ).toBe(expected)
  })

  test('an end the policy wrote itself does not stand there twice', () => {
    const text = createTurnText(options)
    const [bare, ended] = [text.feedback('x', 65), text.feedback('x', 1001)]
    expect(bare[0]).toBe(1001)
    expect([...ended]).toEqual([...bare.slice(1)])
  })

  test('the same first token is kept where it is an ordinary one', () => {
    const plain = {
      render: (messages: readonly { content: string }[]) =>
        messages.map(({ content }) => `${content}!`).join(''),
    }
    const text = createTurnText({ ...options, chatTemplate: plain })
    expect(textOf(text.feedback('x', '!'.charCodeAt(0)))).toBe('!x!')
  })

  test('messages are taken as they are, a system message among them', () => {
    const text = createTurnText(options)
    const messages = ['system', 'user'].map((role) => ({ role, content: role }))
    expect(text.opening(messages).text).toContain('<|im_start|>system\nsystem<|im_end|>')
    expect(textOf(text.feedback([{ role: 'tool', content: '4' }], 1001))).toContain(
      '<|im_start|>tool\n4<|im_end|>',
    )
  })

  test.each([
    ['writes it twice', (text: string) => text + text, '2 times'],
    ['leaves it out', () => 'nothing', '0 times'],
    ['writes nothing behind it', (text: string) => text, 'nothing after'],
    [
      'refuses it',
      () => {
        throw new Error('roles must alternate')
      },
      'several turns',
    ],
  ])('a template that %s is an error, or ChatML is assumed', (_, write, fault) => {
    const broken = { render: (messages: readonly { content: string }[]) => write(messages[1]!.content) }
    const strict = createTurnText({ ...options, chatTemplate: broken })
    expect(() => strict.feedback('x', 65)).toThrow(fault)
    const lenient = createTurnText({ ...options, chatTemplate: broken, strictBoundary: false })
    const chatml = '<|im_end|>\n<|im_start|>user\nx<|im_end|>\n<|im_start|>assistant\n'
    expect(textOf(lenient.feedback('x', 65))).toBe(chatml)
  })

  test('without a template observations are read as they are', () => {
    const text = createTurnText({ ...options, chatTemplate: null, applyChatTemplate: false })
    expect(text.opening('12').text).toBe('12')
    expect(textOf(text.feedback('3', 65))).toBe('3')
    expect(() => createTurnText({ ...options, chatTemplate: null }).opening('12')).toThrow('no chat template')
  })
})

import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { terminalLines } from '#shared/terminalText.ts'
import { main } from '#cli/main.ts'
import { hubIdOf } from '#host/models/modelLibrary.ts'
import { f32ToWrite, openSafetensors, readTensor, writeSafetensors } from '#host/files/safetensors.ts'
import { answer, createWorkplace, linesOf } from './turnwise.ts'

const place = createWorkplace()
const model = place.path('model')

beforeAll(async () => {
  const written = await place.run('model', 'random', '--shape', 'tiny-qwen3', '--out', model, '--json')
  expect(written).toMatchObject({ status: 0, stderr: '' })
  expect(linesOf(written.stdout)).toEqual([expect.objectContaining({ name: 'tiny-qwen3', directory: model })])
})

afterAll(() => place[Symbol.dispose]())

const readJson = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'))
const sequences = [[1, 2, 3, 4, 5], [7, 8, 9], [5]]

describe('score', () => {
  test('writes L−1 entries per sequence', async () => {
    const input = place.write('score.json', { sequences, temperature: 0.7 })
    const output = place.path('scores.json')
    const done = await place.run('score', '--model', model, '--input', input, '--output', output, '--json')
    expect(done).toEqual({ status: 0, stdout: `${JSON.stringify({ output, sequences: 3 })}\n`, stderr: '' })
    const scores = readJson(output) as { logprobs: number[][]; entropy: number[][] }
    expect(Object.keys(scores)).toEqual(['logprobs', 'entropy'])
    expect(scores.logprobs.map((row) => row.length)).toEqual([4, 2, 0])
    expect(scores.entropy.map((row) => row.length)).toEqual([4, 2, 0])
    expect(scores.logprobs.flat().every((value) => value < 0)).toBe(true)
    expect(scores.entropy.flat().every((value) => value > 0)).toBe(true)
  })

  test.each([
    [{ sequences: [[1.5, 2]] }, 'has 1.5, which is not a token id, in sequence 1, position 1.'],
    [{ sequences: [[1], ['x']] }, 'has "x", which is not a token id, in sequence 2, position 1.'],
    [
      { sequences: [[1, 99_999]] },
      /has the token id 99999, which is outside the vocabulary \(0 to \d+\), in sequence 1, position 2\./,
    ],
    [{ sequences: [[-1]] }, /has the token id -1, which is outside the vocabulary/],
    [{ sequences: [] }, 'has no sequences.'],
    [{ sequences: [[1, 2], []] }, 'has an empty sequence (number 2).'],
    [
      { sequences: [Array.from({ length: 100_000 }, () => 1)] },
      /has a sequence of 100000 tokens \(number 1\); the model takes \d+ at most\./,
    ],
    [{ sequences: 5 }, 'needs “sequences”: a list of lists of numbers.'],
    [{ sequences: [[1]], temperature: 0 }, 'has the temperature 0; it must be a number above 0.'],
    [{ sequences: [[1]], temprature: 1 }, 'has the unknown key “temprature”.'],
    ['{"sequences": [[1,', /is not a valid JSON file/],
  ])('%j is refused in words', async (content, sentence) => {
    const input = place.write('wrong.json', content)
    const done = await answer(
      'score',
      '--model',
      model,
      '--input',
      input,
      '--output',
      place.path('none.json'),
    )
    expect([done.status, done.stdout]).toEqual([1, ''])
    expect(done.stderr).toContain('wrong.json')
    if (typeof sentence === 'string') expect(done.stderr).toContain(sentence)
    else expect(done.stderr).toMatch(sentence)
    expect(done.stderr).not.toMatch(/\n +at /)
    expect(existsSync(place.path('none.json'))).toBe(false)
  })
})

describe('a model whose files are not as they seem', () => {
  const starter = path.resolve('resources/starter')
  const copyOf = (name: string): string => {
    const folder = place.path(name)
    cpSync(starter, folder, { recursive: true })
    return folder
  }
  const weightsOf = (folder: string) => openSafetensors(path.join(folder, 'model.safetensors')).tensors
  /** The starter's weights, in which `change` made others of a tensor's. */
  async function rewrite(
    folder: string,
    change: (name: string, data: Float32Array) => { data: Float32Array; shape?: readonly number[] } | null,
  ): Promise<void> {
    const tensors = [...weightsOf(starter)].map(([name, location]) => {
      const data = readTensor(location)
      return f32ToWrite({ name, shape: location.shape, data, ...change(name, data) })
    })
    await writeSafetensors(path.join(folder, 'model.safetensors'), tensors)
  }
  const isEmbedding = (name: string) => name === 'model.embed_tokens.weight'

  test('whose tokenizer has tokens without a row says so when it is imported, and refuses texts with them', async () => {
    const folder = copyOf('vocab-short')
    const config = readJson(path.join(folder, 'config.json')) as { hidden_size: number }
    place.write('vocab-short/config.json', { ...config, vocab_size: 400 })
    await rewrite(folder, (name, data) =>
      isEmbedding(name)
        ? { data: data.slice(0, 400 * config.hidden_size), shape: [400, config.hidden_size] }
        : null,
    )
    const done = await place.run('model', 'import', folder, '--name', 'short')
    expect(done).toMatchObject({
      status: 0,
      stderr: expect.stringMatching(/^25 tokens have no row/) as string,
    })
    const asked = await answer('generate', '--model', folder, '--prompt', 'twelve', '--greedy')
    expect(asked).toMatchObject({ status: 1, stdout: '' })
    expect(asked.stderr).toMatch(/^turnwise: A text has the token “twelve” \(id 424\), but the embedding of/)
  })

  test('without a tokenizer.json is imported with a sentence that says so', async () => {
    const folder = copyOf('no-text')
    renameSync(path.join(folder, 'tokenizer.json'), path.join(folder, 'tokenizer.model'))
    const done = await place.run('model', 'import', folder, '--name', 'no-text', '--json')
    expect(done.stderr).toMatch(/^No text can be given to the model.*tokenizer\.model is not read/)
    expect(linesOf(done.stdout)).toEqual([
      expect.objectContaining({ name: 'no-text', notes: [done.stderr.trim()] }),
    ])
  })

  test('with weights that are no numbers is not imported, and scores nothing', async () => {
    const folder = copyOf('nan')
    await rewrite(folder, (name, data) =>
      name === 'model.norm.weight' ? { data: data.map((value, at) => (at === 3 ? NaN : value)) } : null,
    )
    const done = await answer('model', 'import', folder, '--name', 'nan')
    expect(done).toMatchObject({ status: 1, stdout: '' })
    expect(done.stderr).toMatch(/“model\.norm\.weight” in .* holds a value that is not a finite number/)
    const [input, output] = [place.write('ids.json', { sequences: [[5, 6, 7]] }), place.path('nan.json')]
    const scored = await answer('score', '--model', folder, '--input', input, '--output', output)
    expect(scored).toMatchObject({ status: 1, stdout: '' })
    expect(scored.stderr).toContain('The log-probability of token 2 in sequence 1 is NaN.')
    expect(existsSync(output)).toBe(false)
  })

  test('keeps its templates when it is imported', async () => {
    const folder = copyOf('templates')
    mkdirSync(path.join(folder, 'additional_chat_templates'))
    writeFileSync(path.join(folder, 'additional_chat_templates', 'tool_use.jinja'), 'tools')
    const done = await place.run('model', 'import', folder, '--name', 'templates', '--json')
    const [{ directory }] = linesOf(done.stdout) as [{ directory: string }]
    expect(readFileSync(path.join(directory, 'additional_chat_templates', 'tool_use.jinja'), 'utf8')).toBe(
      'tools',
    )
  })
})

describe('generate', () => {
  test('greedy completions carry the log-probabilities that score gives', async () => {
    const done = await place.run(
      'generate',
      '--model',
      model,
      '--prompt',
      'abc',
      '--greedy',
      '--max-tokens',
      '6',
      '--json',
    )
    expect([done.status, done.stderr]).toEqual([0, ''])
    const [{ completions }] = linesOf(done.stdout) as [
      { completions: { ids: number[]; logprobs: number[]; stopReason: string }[] },
    ]
    const [{ ids, logprobs, stopReason }] = completions as [(typeof completions)[0]]
    expect(stopReason).toMatch(/^(length|stop-id)$/)
    const prompt = [...Buffer.from('abc')] // the byte tokenizer of random models
    const input = place.write('again.json', { sequences: [[...prompt, ...ids]] })
    await place.run('score', '--model', model, '--input', input, '--output', place.path('again.out'))
    const scores = readJson(place.path('again.out')) as { logprobs: [number[]] }
    scores.logprobs[0]
      .slice(prompt.length - 1)
      .forEach((value, at) => expect(value).toBeCloseTo(logprobs[at] ?? 0, 4))
  })

  test('samples follow the seed', async () => {
    const ask = (seed: string) =>
      place.run(
        'generate',
        '--model',
        model,
        '--prompt',
        'x',
        '--samples',
        '3',
        '--seed',
        seed,
        '--max-tokens',
        '5',
        '--json',
      )
    const [first, again, other] = [await ask('1'), await ask('1'), await ask('2')]
    expect(again.stdout).toBe(first.stdout)
    expect(other.stdout).not.toBe(first.stdout)
    const [{ completions }] = linesOf(first.stdout) as [{ completions: { sample: number; text: string }[] }]
    expect(completions.map(({ sample }) => sample)).toEqual([0, 1, 2])
  })

  test('without --json it writes the text, from messages too', async () => {
    const messages = place.write('chat.json', [{ role: 'user', content: 'hi' }])
    const args = ['generate', '--model', model, '--messages', messages, '--seed', '3', '--max-tokens', '8']
    const [plain, json] = [await place.run(...args), await place.run(...args, '--json')]
    const [{ completions }] = linesOf(json.stdout) as [{ completions: [{ text: string }] }]
    expect(plain.stdout).toBe(`${terminalLines(completions[0].text, '')}\n`)
    for (const more of [[], ['--stop', 'no such text']]) {
      const [stdout, stderr] = [Object.assign(new PassThrough(), { isTTY: true }), new PassThrough()]
      await main([...args, ...more], { stdout, stderr })
      expect(String(stdout.read())).toBe(`${terminalLines(completions[0].text)}\n`)
    }
  })

  test('a stop text ends a completion and is not part of it', async () => {
    const args = [
      'generate',
      '--model',
      model,
      '--prompt',
      'abc',
      '--seed',
      '5',
      '--max-tokens',
      '40',
      '--json',
    ]
    const [{ completions: whole }] = linesOf((await place.run(...args)).stdout) as [
      { completions: [{ text: string }] },
    ]
    const stop = /[ -~]/.exec(whole[0].text.slice(3))?.[0] ?? ''
    const stopped = await place.run(...args, '--stop', stop)
    const [{ completions }] = linesOf(stopped.stdout) as [
      { completions: [{ text: string; stopReason: string }] },
    ]
    expect(completions[0]).toMatchObject({
      text: whole[0].text.slice(0, whole[0].text.indexOf(stop)),
      stopReason: 'stop-string',
    })
  })

  test('wrong messages are refused', async () => {
    const done = await answer(
      'generate',
      '--model',
      model,
      '--messages',
      place.write('no.json', { messages: [{ role: 'user' }] }),
    )
    expect(done).toMatchObject({ status: 1, stdout: '' })
    expect(done.stderr).toMatch(/must hold a list of messages/)
  })
})

describe('grad', () => {
  const request = {
    sequences: [
      [1, 2, 3, 4, 5],
      [7, 8, 9],
    ],
    coefficients: [
      [1, 0, 0.5, -1],
      [0.2, 0.3],
    ],
  }

  test('writes gradients under the names and with the shapes of the adapter', async () => {
    const { adapter } = await trainTiny()
    const input = place.write('grad.json', request)
    const done = await place.run(
      'grad',
      '--model',
      model,
      '--adapter',
      adapter,
      '--input',
      input,
      '--output',
      place.path('grads'),
      '--json',
    )
    expect([done.status, done.stderr]).toEqual([0, ''])
    const gradients = openSafetensors(place.path('grads/gradients.safetensors')).tensors
    const parameters = openSafetensors(path.join(adapter, 'adapter_model.safetensors')).tensors
    expect([...gradients.keys()].sort()).toEqual([...parameters.keys()].sort())
    for (const [name, { shape }] of gradients) expect(shape).toEqual(parameters.get(name)?.shape)
    const size = [...gradients.values()]
      .flatMap((location) => [...readTensor(location)])
      .reduce((sum, x) => sum + x * x, 0)
    expect(size).toBeGreaterThan(0)
  })

  test.each([
    [{ ...request, coefficients: [[1, 0, 0.5, -1]] }, 'has 2 sequences but 1 rows of coefficients'],
    [
      {
        ...request,
        coefficients: [
          [1, 0, 0.5],
          [1, 1],
        ],
      },
      'has 3 coefficients for sequence 1, which makes 4 predictions',
    ],
    [{ sequences: request.sequences }, 'needs “coefficients”'],
  ])('%j is refused in words', async (content, sentence) => {
    const { adapter } = await trainTiny()
    const input = place.write('wrong.json', content)
    const done = await answer(
      'grad',
      '--model',
      model,
      '--adapter',
      adapter,
      '--input',
      input,
      '--output',
      place.path('g'),
    )
    expect(done).toMatchObject({ status: 1, stdout: '' })
    expect(done.stderr).toContain(sentence)
  })

  test('an adapter of another model is refused', async () => {
    const { adapter } = await trainTiny()
    const other = place.path('other')
    await place.run('model', 'random', '--shape', 'tiny-llama', '--out', other)
    const done = await answer(
      'grad',
      '--model',
      other,
      '--adapter',
      adapter,
      '--input',
      place.write('grad.json', request),
      '--output',
      place.path('g'),
    )
    expect(done).toMatchObject({ status: 1, stdout: '' })
    expect(done.stderr).toMatch(/probably trained on another model|lacks|holds/)
  })
})

/** One step of training, for an adapter to ask about; made once. */
let tiny: Promise<{ adapter: string }> | undefined
const trainTiny = () => (tiny ??= trainOnce())

async function trainOnce(): Promise<{ adapter: string }> {
  place.write('rows.jsonl', '{"prompt":"1+1=","answer":"2"}\n')
  const config = place.write('run.json', {
    model: 'model',
    data: { train: 'rows.jsonl' },
    rewards: [{ function: 'length-penalty' }],
    rollout: { promptsPerStep: 1, groupSize: 2, maxNewTokens: 4 },
    steps: 1,
  })
  const done = await place.run('train', config, '--json')
  expect([done.status, done.stderr]).toEqual([0, expect.any(String)])
  const [run] = linesOf(done.stdout) as [{ id: string }]
  const adapter = place.path('adapter')
  const named = ['--format', 'peft', '--out', place.folder, '--base-id', 'someone/else']
  expect((await place.run('export', run.id, ...named)).stderr).toContain('is not empty')
  expect(existsSync(place.path('home/hub-ids.json'))).toBe(false)
  const exported = await place.run('export', run.id, '--format', 'peft', '--out', adapter, '--json')
  expect(linesOf(exported.stdout)).toEqual([expect.objectContaining({ directory: adapter, passed: true })])
  expect(readdirSync(adapter).sort()).toEqual([
    'README.md',
    'adapter_config.json',
    'adapter_model.safetensors',
    'parity.json',
  ])
  return { adapter }
}

describe('model import and list', () => {
  test('an imported model is known by its name', async () => {
    const done = await place.run(
      ...['model', 'import', model, '--name', 'mine', '--hub-id', 'someone/mine', '--json'],
    )
    expect(linesOf(done.stdout)).toEqual([expect.objectContaining({ name: 'mine', architecture: 'qwen3' })])
    const { stdout } = await place.run('model', 'list', '--json')
    const [{ models }] = linesOf(stdout) as [{ models: { name: string }[] }]
    expect(models.map(({ name }) => name)).toContain('mine')
    const generated = await place.run(
      'generate',
      '--model',
      'mine',
      '--prompt',
      'a',
      '--max-tokens',
      '2',
      '--json',
    )
    expect(generated.status).toBe(0)
    expect(hubIdOf(place.path('home/models/mine'))).toBe('someone/mine')
    expect((await place.run('model', 'import', model, '--name', 'mine')).stderr).toMatch(
      /A model called “mine” already exists/,
    )
  })

  test('what is no model is refused', async () => {
    const done = await answer('model', 'import', place.folder)
    expect(done).toMatchObject({ status: 1, stdout: '' })
    expect(done.stderr).toMatch(/has no config\.json/)
  })
})

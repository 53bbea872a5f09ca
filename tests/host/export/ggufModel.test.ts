/** Merged models as one GGUF file: every family, bases of both kinds, tokenizers, and what is refused. */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { openGguf } from '#host/gguf/ggufReader.ts'
import { describeTokenizer } from '#host/gguf/ggufVocabulary.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { loadTokenizer, textFiles } from '#host/models/tokenizerFolder.ts'
import { formatSizes } from '#host/export/exports.ts'
import { weightErrors } from '#host/export/ggufParity.ts'
import { modelfile, ollamaTemplate } from '#host/export/ollama.ts'
import { randomAdapter } from '../../engine/runtime/tinyModel.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { folderOf, tokenizerFixtures, vocabularies } from '../gguf/vocabularies.ts'
import { createFixture, failures, fixtureLora, randomFixture, referenceFixture } from './exportFixture.ts'

const root = temporaryFolder()
let places = 0
function place(): string {
  const folder = path.join(root, String(++places))
  mkdirSync(folder)
  return folder
}

/** All that GGUF can say everything of, with each kind of rotary embedding. */
const families = ['llama-dynamic', 'llama-linear', 'mistral-f16', 'qwen2-bf16', 'phi3', 'phi3-longrope']

test.each(families)('%s gives the log-probabilities and tokens of the policy', async (name) => {
  const fixture = await referenceFixture(place(), name)
  expect(failures(await fixture.export({ format: 'gguf-model', dtype: 'f32' }))).toEqual([])
})

test.each(['f16', 'bf16'] as const)('as %s it is within what rounding does', async (dtype) => {
  const fixture = await referenceFixture(place(), 'llama-grouped')
  const report = await fixture.export({ format: 'gguf-model', dtype })
  expect(failures(report)).toEqual([])
  expect(report.openIn.map(({ tool }) => tool)).toEqual(['Ollama', 'LM Studio', 'llama.cpp', 'vLLM'])
})

test('a file with another adapter in it does not pass', async () => {
  const fixture = await referenceFixture(place(), 'llama-grouped')
  const { directory } = await fixture.export({ format: 'gguf-model', dtype: 'q8_0' })
  const written = openModelFolder(path.join(directory, 'model.gguf'))
  const own = weightErrors(fixture.model, written, fixture.adapter)
  expect(own.lines.every(({ passed }) => passed)).toBe(true)
  const tensors = fixture.adapter.tensors.map((tensor, index) =>
    index === 0 ? tensor : { ...tensor, data: tensor.data.map((value) => -value) },
  )
  const other = weightErrors(fixture.model, written, { ...fixture.adapter, tensors })
  expect(other.lines.some(({ passed }) => !passed)).toBe(true)
})

describe('experts', () => {
  test('are one tensor of each matrix in blocks, gate and up apart, and the router stays in f32', async () => {
    const fixture = await randomFixture(place(), 'tiny-granitemoe')
    const report = await fixture.export({ format: 'gguf-model', dtype: 'q8_0' })
    expect(failures(report)).toEqual([])
    const { tensors } = openGguf(path.join(report.directory, 'model.gguf'))
    const said = (name: string) => {
      const { dtype, shape } = tensors.get(`blk.1.${name}.weight`)!
      return [dtype, ...shape]
    }
    const { hiddenSize, experts } = fixture.model.config
    const { count, width } = experts!
    expect(said('ffn_gate_inp')).toEqual(['F32', count, hiddenSize])
    for (const name of ['ffn_gate_exps', 'ffn_up_exps'])
      expect(said(name)).toEqual(['Q8_0', count, width, hiddenSize])
    // Rows of 24 numbers are no whole blocks.
    expect(said('ffn_down_exps')).toEqual(['F16', count, hiddenSize, width])
  })

  test('one that all tokens go through is tensors of its own, behind a vector', async () => {
    const fixture = await randomFixture(place(), 'tiny-qwen3_5_moe')
    const report = await fixture.export({ format: 'gguf-model', dtype: 'f32' })
    expect(failures(report)).toEqual([])
    const { tensors } = openGguf(path.join(report.directory, 'model.gguf'))
    const { hiddenSize, experts } = fixture.model.config
    const said = ['ffn_gate_inp_shexp', 'ffn_up_shexp'].map((name) => {
      const { dtype, shape } = tensors.get(`blk.1.${name}.weight`)!
      return [dtype, ...shape]
    })
    expect(said).toEqual([
      ['F32', hiddenSize],
      ['F32', experts!.sharedWidth, hiddenSize],
    ])
  })

  test('of a file become a file again, but no folder whose tensors are others', async () => {
    const first = await randomFixture(place(), 'tiny-granitemoe')
    const { directory } = await first.export({ format: 'gguf-model', dtype: 'q8_0' })
    const model = openModelFolder(path.join(directory, 'model.gguf'))
    const { config } = first.adapter
    const tensors = randomAdapter(model.config, config)
    const again = await createFixture(place(), model, { config, baseModel: null, tensors })
    expect(failures(await again.export({ format: 'gguf-model', dtype: 'q8_0' }))).toEqual([])
    expect(failures(await again.export({ format: 'peft' }))).toEqual([])
    await expect(again.export({ format: 'merged' })).rejects.toThrow('granitemoe cannot be written')
  })
})

test('merged, one of a file has the size that was told before', async () => {
  const first = await referenceFixture(place(), 'llama-grouped')
  const { directory } = await first.export({ format: 'gguf-model', dtype: 'q8_0' })
  const model = openModelFolder(path.join(directory, 'model.gguf'))
  const { config } = first.adapter
  const again = await createFixture(place(), model, {
    config,
    baseModel: null,
    tensors: randomAdapter(model.config, config),
  })
  const merged = await again.export({ format: 'merged' })
  const [size, ...others] = formatSizes('merged', model)
  expect([size?.dtype, others]).toEqual([null, []])
  const tensors = [...openModelFolder(merged.directory).tensors.values()]
  expect(size?.bytes).toBe(tensors.reduce((sum, { byteLength }) => sum + byteLength, 0))
})

test('of Gemma 4 any number of pairs may rotate, also one whose share is rounded down', async () => {
  const full = { rope_type: 'proportional', rope_theta: 1e6, partial_rotary_factor: 0.7 }
  const sliding = { rope_type: 'default', rope_theta: 1e4 }
  const config = {
    global_head_dim: 44, // 15 of 22 pairs
    rope_parameters: { full_attention: full, sliding_attention: sliding },
  }
  const fixture = await randomFixture(place(), 'tiny-gemma4', { overrides: { config } })
  expect(failures(await fixture.export({ format: 'gguf-model', dtype: 'f32' }))).toEqual([])
})

test.each([
  ['gemma2', 'attentionScale'],
  ['qwen2-window', 'windows'],
  ['smollm3', 'attention'],
  ['olmoe', 'as many heads of keys'],
  ['gemma4', 'keys of their own'],
  ['gemma4-dense', 'biases'],
  ['qwen3-moe', 'experts'],
  ['gpt-oss', 'beta_fast'],
])('%s is refused, since a file cannot say its %s', async (name, what) => {
  const fixture = await referenceFixture(place(), name)
  await expect(fixture.export({ format: 'gguf-model' })).rejects.toThrow(what)
})

describe('a base that is a GGUF file', () => {
  const file = path.resolve(import.meta.dirname, '../../fixtures/gguf/llama-biases-llama3.gguf')

  test('gives its own metadata and rotary factors to what is made of it', async () => {
    const folder = place()
    const model = openModelFolder(file)
    const tensors = randomAdapter(model.config, fixtureLora)
    const fixture = await createFixture(folder, model, {
      config: fixtureLora,
      baseModel: 'some/model',
      tensors,
    })
    const report = await fixture.export({ format: 'gguf-model', dtype: 'f32' })
    expect(failures(report)).toEqual([])
    const [base, made] = [file, path.join(report.directory, 'model.gguf')].map((each) => openGguf(each))
    const own = [...base!.metadata].filter(
      ([key]) => key.startsWith('llama.') || key.startsWith('tokenizer.'),
    )
    for (const [key, value] of own) expect([key, made!.metadata.get(key)]).toEqual([key, value])
    expect(made!.metadata.get('general.base_model.0.name')).toEqual({ type: 'string', value: 'some/model' })
    expect([...made!.tensors.keys()].sort()).toEqual([...base!.tensors.keys()].sort())
  })
})

test('the licence of the base is in the file, its Modelfile and its README, and the text goes along', async () => {
  const fixture = await randomFixture(place(), 'tiny-llama')
  writeFileSync(path.join(fixture.model.directory, 'README.md'), '---\nlicense: apache-2.0\n---\n')
  writeFileSync(path.join(fixture.model.directory, 'LICENSE'), 'Apache License')
  const { directory } = await fixture.export({ format: 'gguf-model' })
  const said = openGguf(path.join(directory, 'model.gguf')).metadata.get('general.license')
  expect(said).toEqual({ type: 'string', value: 'apache-2.0' })
  const read = (name: string) => readFileSync(path.join(directory, name), 'utf8')
  expect(read('Modelfile')).toContain('LICENSE """apache-2.0"""')
  expect(read('README.md')).toContain('license: apache-2.0')
  expect(read('LICENSE')).toBe('Apache License')
})

describe('tokenizers', () => {
  const { config } = openModelFolder(path.resolve(tokenizerFixtures, '../reference/llama-grouped/model'))
  const describeIn = (name: string, architecture = 'llama') =>
    describeTokenizer(
      textFiles(path.join(tokenizerFixtures, folderOf(name))),
      {
        ...config,
        ...(name === 'gemma4' && { architecture: 'gemma4_text' }),
        vocabSize: 2_000,
        bosId: null,
        eosIds: [],
        padId: null,
      },
      new Map([['general.architecture', { type: 'string', value: architecture }]]),
    )

  // Where several names stand for one way of cutting, the first of them.
  const sameWay: Readonly<Record<string, string>> = { refact: 'smollm' }

  test.each(Object.entries(vocabularies))('%s is known again', (name, pre) => {
    const words = describeIn(name, name.startsWith('phi') ? 'phi3' : 'llama')
    const found = words.get('tokenizer.ggml.pre')
    const wanted = { type: 'string', value: sameWay[pre ?? ''] ?? pre ?? 'default' }
    expect(found).toEqual(name === 'gemma4' ? undefined : wanted)
    expect(words.has('tokenizer.ggml.merges')).toBe(pre !== null)
  })

  test('marks of tool calls stay to be seen in Gemma 4’s answers', () => {
    const folder = place()
    cpSync(path.join(tokenizerFixtures, 'gemma'), folder, { recursive: true })
    const file = path.join(folder, 'tokenizer.json')
    const json = JSON.parse(readFileSync(file, 'utf8')) as { added_tokens: object[] }
    const added = { id: 1_999, content: '<|tool_call>', special: true, normalized: false }
    writeFileSync(file, JSON.stringify({ ...json, added_tokens: [...json.added_tokens, added] }))
    const typeFor = (architecture: string) => {
      const model = { ...config, architecture, vocabSize: 2_000, bosId: null, eosIds: [], padId: null }
      const words = describeTokenizer(textFiles(folder), model, new Map())
      const types = words.get('tokenizer.ggml.token_type')
      return types?.type === 'array' ? types.items[1_999] : null
    }
    expect([typeFor('gemma3_text'), typeFor('gemma4_text')]).toEqual([3, 4])
  })

  test('one that cuts texts otherwise is refused', () => {
    expect(() => describeIn('metaspace-split')).toThrow('no name for')
  })
})

describe('the Modelfile', () => {
  const withTemplate = (template: string, tokenizer = 'smollm2') => {
    const folder = place()
    cpSync(path.join(tokenizerFixtures, tokenizer), folder, { recursive: true })
    writeFileSync(path.join(folder, 'chat_template.jinja'), template)
    return loadTokenizer(folder)
  }
  const chatMl =
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\\nBe brief<|im_end|>\\n' }}{% endif %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"

  test('frames messages as the chat template does, with its usual system message', () => {
    const found = ollamaTemplate(withTemplate(chatMl))
    expect(found).toMatchObject({ opening: '', prompt: '<|im_start|>assistant\n', system: 'Be brief' })
    expect(found?.frames.user).toEqual({ before: '<|im_start|>user\n', behind: '<|im_end|>\n' })
    const { config } = openModelFolder(path.resolve(tokenizerFixtures, '../reference/llama-grouped/model'))
    const text = withTemplate(chatMl)
    const eosId = text.tokenizer.tokenToId('<|im_end|>') ?? 0
    const written = modelfile({
      file: 'model.gguf',
      model: { ...config, eosIds: [eosId] },
      text,
      license: null,
    })
    expect(written).toContain('FROM ./model.gguf\n')
    expect(written).toContain('SYSTEM """Be brief"""')
    expect(written).toContain('PARAMETER stop "<|im_end|>"')
  })

  test('leaves a template that does more to the file', () => {
    const loud = chatMl.replace("message['content']", "message['content'] | upper")
    expect(ollamaTemplate(withTemplate(loud))).toBeNull()
  })
})

test.each([
  [{ swiglu_limit: 3 }, 'experts'],
  [{ attention_bias: false }, 'biases on attention'],
  [{ tie_word_embeddings: true }, 'a head of its own'],
  [{ rope_scaling: { rope_type: 'yarn', factor: 8, original_max_position_embeddings: 64 } }, 'ropes'],
])('GPT-OSS with %j is refused, since llama.cpp would compute another', async (config, what) => {
  const fixture = await randomFixture(place(), 'tiny-gpt_oss', { overrides: { config } })
  await expect(fixture.export({ format: 'gguf-model' })).rejects.toThrow(what)
})

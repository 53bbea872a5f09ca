import { cpSync, linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadTokenizer } from '#host/models/tokenizerFolder.ts'
import { smallTokenizerConfig, smallTokenizerJson } from '../../engine/text/fixtures.ts'

const template = "{% for message in messages %}<|user|>{{ message['content'] }}{% endfor %}"
const messages = [{ role: 'user', content: 'the cat' }]

describe('loadTokenizer', () => {
  let folder = ''
  const write = (name: string, content: string | Uint8Array) => writeFileSync(join(folder, name), content)
  const writeConfig = (config: object) => write('tokenizer_config.json', JSON.stringify(config))

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tokenizer-'))
    write('tokenizer.json', JSON.stringify(smallTokenizerJson()))
    writeConfig({ ...smallTokenizerConfig, chat_template: template })
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const render = () => loadTokenizer(folder).chatTemplate?.render(messages, { addGenerationPrompt: false })

  test('reads tokenizer, config and template', () => {
    const { tokenizer } = loadTokenizer(folder)
    expect(tokenizer.special.eos).toBe(1)
    expect(render()).toBe('<|user|>the cat')
  })

  test('prefers chat_template.jinja', () => {
    write('chat_template.jinja', 'from the file')
    expect(render()).toBe('from the file')
  })

  test('reads no template through a link that leads out of the folder, but for Hugging Face’s cache', () => {
    const elsewhere = mkdtempSync(join(tmpdir(), 'tokenizer-'))
    const secret = join(elsewhere, 'token')
    writeFileSync(secret, 'hf_secret')
    symlinkSync(secret, join(folder, 'chat_template.jinja'))
    expect(() => loadTokenizer(folder)).toThrow('chat_template.jinja is a link that leads out of its folder')
    const snapshot = join(elsewhere, 'models--o--n', 'snapshots', 'abc')
    const blobs = join(elsewhere, 'models--o--n', 'blobs')
    cpSync(folder, snapshot, { recursive: true, filter: (file) => !file.endsWith('.jinja') })
    mkdirSync(blobs)
    writeFileSync(join(blobs, 'ff'), 'from the cache')
    symlinkSync('../../blobs/ff', join(snapshot, 'chat_template.jinja'))
    const { chatTemplate } = loadTokenizer(snapshot)
    expect(chatTemplate?.render(messages, { addGenerationPrompt: false })).toBe('from the cache')
    rmSync(elsewhere, { recursive: true })
  })

  test.each(['file', 'folder', 'hard link'])(
    'reads no additional template through a %s that leads elsewhere',
    (kind) => {
      const elsewhere = mkdtempSync(join(tmpdir(), 'tokenizer-'))
      writeFileSync(join(elsewhere, 'tool_use.jinja'), 'hf_secret')
      const more = join(folder, 'additional_chat_templates')
      if (kind === 'folder') symlinkSync(elsewhere, more)
      else {
        mkdirSync(more)
        const link = kind === 'file' ? symlinkSync : linkSync
        link(join(elsewhere, 'tool_use.jinja'), join(more, 'tool_use.jinja'))
      }
      expect(() => loadTokenizer(folder)).toThrow(
        /tool_use\.jinja is a (?:link that leads out|file with a second name)/,
      )
      rmSync(elsewhere, { recursive: true })
    },
  )

  test('takes additional templates by their names, and the one for tools where tools are given', () => {
    const folderOfMore = join(folder, 'additional_chat_templates')
    mkdirSync(folderOfMore)
    writeFileSync(join(folderOfMore, 'tool_use.jinja'), 'with {{ tools | length }} tools')
    writeFileSync(join(folderOfMore, 'notes.txt'), '{% never read')
    write('chat_template.jinja', 'plain')
    expect(render()).toBe('plain')
    const options = { addGenerationPrompt: false, tools: [{}, {}] }
    expect(loadTokenizer(folder).chatTemplate?.render(messages, options)).toBe('with 2 tools')
  })

  test('does without a config, and then has no template', () => {
    rmSync(join(folder, 'tokenizer_config.json'))
    expect(loadTokenizer(folder).chatTemplate).toBeNull()
    expect(loadTokenizer(folder).tokenizer.special.eos).toBeNull()
  })

  test('refuses texts with tokens that the embedding has no row for, and names them', () => {
    const { tokenizer: whole } = loadTokenizer(folder)
    const ids = [...whole.encode('the cat', { addSpecialTokens: false })]
    const last = Math.max(...ids)
    write('config.json', JSON.stringify({ vocab_size: last + 1 }))
    const { tokenizer: fitting } = loadTokenizer(folder)
    expect([...fitting.encode('the cat', { addSpecialTokens: false })]).toEqual(ids)
    write('config.json', JSON.stringify({ vocab_size: last }))
    const { tokenizer, notes } = loadTokenizer(folder)
    const token = whole.idToToken(last) ?? expect.fail('no token')
    expect(notes).toEqual([
      expect.stringContaining(`${whole.vocabSize - last} tokens have no row in the embedding`),
    ])
    expect(notes?.[0]).toContain(`“${token}”`)
    expect(() => tokenizer.encode('the cat', { addSpecialTokens: false })).toThrow(
      expect.objectContaining({
        code: 'data/invalid',
        message: expect.stringContaining(`“${token}” (id ${last}), but the embedding of`) as string,
      }),
    )
    expect(tokenizer.encode('7', { addSpecialTokens: false })).toHaveLength(1)
    // Nothing is said of a table that has rows to spare.
    write('config.json', JSON.stringify({ vocab_size: whole.vocabSize + 64 }))
    expect(loadTokenizer(folder).notes).toBeUndefined()
  })

  test('a missing tokenizer.json is named', () => {
    rmSync(join(folder, 'tokenizer.json'))
    expect(() => loadTokenizer(folder)).toThrow(
      expect.objectContaining({
        code: 'file/unreadable',
        message: expect.stringContaining('tokenizer.json') as string,
      }),
    )
  })

  test('a folder in the place of a file is not read', () => {
    rmSync(join(folder, 'tokenizer.json'))
    mkdirSync(join(folder, 'tokenizer.json'))
    expect(() => loadTokenizer(folder)).toThrow(expect.objectContaining({ code: 'file/unreadable' }))
  })

  test('wherever a file is cut short, it is one sentence that names it', () => {
    const whole = JSON.stringify(smallTokenizerJson())
    for (let length = 0; length < whole.length; length += 97) {
      write('tokenizer.json', whole.slice(0, length))
      expect(() => loadTokenizer(folder), `${length} characters`).toThrow(
        expect.objectContaining({
          code: 'tokenizer/invalid',
          message: expect.stringContaining(folder) as string,
        }),
      )
    }
  })

  test.each(['tokenizer.json', 'tokenizer_config.json', 'chat_template.jinja'])(
    '%s that is not UTF-8',
    (name) => {
      write(name, Uint8Array.of(0xff, 0xfe, 0x00))
      expect(() => loadTokenizer(folder)).toThrow(expect.objectContaining({ code: 'tokenizer/invalid' }))
    },
  )
})

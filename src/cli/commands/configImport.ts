import { problemSentence } from '#shared/errors.ts'
import { readFileSync } from 'node:fs'
import { readError } from '#host/files/fileErrors.ts'
import { writeUserFile } from '#host/files/atomic.ts'
import { importConfig, type ImportNote } from '#host/exchange/importConfig.ts'
import { toolIds, toolTitles } from '#shared/tools.ts'
import { unfinishedWarnings } from '#host/runs/runVerdict.ts'
import { defineCommand } from '../command.ts'
import { choice, force, text } from '../options.ts'

const kinds: Readonly<Record<ImportNote['kind'], string>> = {
  'left-out': 'Not taken over:',
  changed: 'Taken over, but not quite the same:',
  'filled-in': 'Filled in:',
}

export const configImport = defineCommand({
  name: 'config import',
  summary: 'Turn the settings of TRL, AgileRL, verl or AReaL into a run config',
  positionals: [{ name: 'FILE', description: 'YAML, JSON, or a command with key=value words' }],
  options: {
    from: choice(toolIds, 'whose settings they are; without it their names tell'),
    out: text('FILE', 'where to write the run config; without it, standard output'),
    force,
  },
  notes: () => [
    'Settings without a counterpart and defaults that were filled in are listed on standard error, with warnings',
    'about values that are probably mistakes.',
  ],
  run({ options, positionals: [file = ''] }, { json, output }) {
    const { tool, config, notes } = importConfig(readText(file), options.from ?? null)
    const written = `${JSON.stringify(config, null, 2)}\n`
    if (options.out !== undefined) writeUserFile(options.out, written, { overwrite: options.force })
    const warnings = unfinishedWarnings(config)
    output.json({ tool, config, notes, warnings, file: options.out ?? null })
    if (options.out === undefined) output.write(written)
    else output.line(`Wrote ${options.out} from ${toolTitles[tool]}'s settings.`)
    if (json) return
    for (const line of noteLines(notes)) output.note(line)
    for (const warning of warnings) output.note(`Warning: ${problemSentence(warning)}`)
  },
})

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw readError(file, error)
  }
}

const noteLines = (notes: readonly ImportNote[]): string[] =>
  Object.entries(kinds).flatMap(([kind, heading]) => {
    const own = notes.filter((note) => note.kind === kind)
    return own.length === 0 ? [] : [heading, ...own.map(({ text: sentence }) => `  ${sentence}`)]
  })

import { plural } from '#shared/plural.ts'
import { renameSync } from 'node:fs'
import { historyFile } from '#host/createHost.ts'
import { writeError } from '#host/files/fileErrors.ts'
import { recoverStore } from '#host/store/recover.ts'
import { defineCommand } from '../command.ts'
import { flag } from '../options.ts'

export const runsRecover = defineCommand({
  name: 'runs recover',
  summary: 'Save what is readable of a damaged history into a new one',
  positionals: [],
  options: {
    use: flag('put the recovered history in the place of the damaged one, which is kept under another name'),
  },
  notes: () => [
    'Runs themselves lie in folders of their own: whatever the history lost of them is read from there again.',
    'Close every other turnwise first.',
  ],
  run({ options }, { dataDirectory, output }) {
    const file = historyFile(dataDirectory)
    const { recoveredFile, rowsByTable, lost } = recoverStore(file)
    const damagedFile = options.use ? replace(file, recoveredFile) : file
    output.json({ recoveredFile: options.use ? file : recoveredFile, damagedFile, rowsByTable, lost })
    const rows = Object.values(rowsByTable).reduce((sum, count) => sum + count, 0)
    output.line(`Saved ${plural(rows, 'row')} into ${options.use ? file : recoveredFile}.`)
    for (const sentence of lost) output.line(sentence)
    if (options.use) output.line(`The damaged file is kept as ${damagedFile}.`)
    else output.line('turnwise runs recover --use puts it in the place of the damaged one.')
  },
})

/** Returns the name under which the damaged file is kept. */
function replace(file: string, recovered: string): string {
  const kept = `${file}.damaged-${Date.now()}`
  try {
    for (const end of ['-wal', '-shm']) moveIfThere(`${file}${end}`, `${kept}${end}`)
    renameSync(file, kept)
    renameSync(recovered, file)
  } catch (error) {
    throw writeError(file, error)
  }
  return kept
}

function moveIfThere(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return
    throw error
  }
}

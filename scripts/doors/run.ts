/**
 * `npm run test:doors`: tries every command that README and the guide show, and every button of the window, once and with
 * defaults, on the bundled model. It lists what failed and what it could not reach, and ends with a failure if any failed.
 * `--only commands` or `--only buttons` tries one half.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { shownCommands, unreachable, Workplace } from './commands.ts'

interface Door {
  readonly name: string
  /** `null`: it opened. */
  readonly fault: string | null
  /** Why it was not tried; null: it was. */
  readonly notReached: string | null
}

async function tryCommands(place: Workplace): Promise<Door[]> {
  const doors: Door[] = []
  await place.prepare(console.log)
  for (const command of shownCommands()) {
    const notReached = unreachable(command)
    const name = `turnwise ${command}`
    if (notReached !== null) {
      doors.push({ name, fault: null, notReached })
      continue
    }
    const { status, output } = await place.run(place.filledIn(command))
    const fault = status === 0 ? null : `exit status ${String(status)}: ${output.trim().slice(-400)}`
    doors.push({ name, fault, notReached: null })
    console.log(`${fault === null ? 'open ' : 'SHUT '} ${name}`)
  }
  return doors
}

/** The window's half is a journey of its own. */
function areButtonsOpen(): boolean {
  const playwright = createRequire(import.meta.url).resolve('@playwright/test/package.json')
  const script = path.join(path.dirname(playwright), 'cli.js')
  return (
    spawnSync(process.execPath, [script, 'test', '--project=doors'], {
      stdio: 'inherit',
      env: { ...process.env, TURNWISE_DOORS: '1' },
    }).status === 0
  )
}

const { values } = parseArgs({ options: { only: { type: 'string' } } })
const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-doors-'))
const doors = values.only === 'buttons' ? [] : await tryCommands(new Workplace(folder))
rmSync(folder, { recursive: true, force: true })
const shut = doors.filter(({ fault }) => fault !== null)
const missed = doors.filter(({ notReached }) => notReached !== null)
for (const { name, notReached } of missed) console.log(`Not reached: ${name} (${notReached ?? ''})`)
for (const { name, fault } of shut) console.log(`Shut: ${name}\n  ${fault ?? ''}`)
const opened = doors.length - shut.length - missed.length
console.log(
  `Commands: ${String(opened)} open, ${String(shut.length)} shut, ${String(missed.length)} not reached`,
)
const isWindowOpen = values.only === 'commands' || areButtonsOpen()
process.exitCode = shut.length === 0 && isWindowOpen ? 0 : 1

/** Losses that people write. */
import { Command } from '@commander-js/extra-typings'
import { isObject } from '#shared/config/paths.ts'
import type { SettingField } from '#shared/config/fields.ts'
import { rangeWords } from '#shared/config/fields.ts'
import { AppError } from '#shared/errors.ts'
import { lossCheckNames, lossCheckWords } from '#shared/losses.ts'
import { plural } from '#shared/plural.ts'
import { createHost } from '#host/createHost.ts'
import type { Host } from '#host/host.ts'
import { checkCode, type LossCheck } from '#host/losses/lossesService.ts'
import { codeReference, readRewardCode, requireSandboxed } from '#host/rewards/rewardCode.ts'
import { readLosses } from '#host/rewards/rewardsService.ts'
import { withFile } from '#host/rewards/rewardVersions.ts'
import { usageError, type Context } from '../command.ts'
import { tableLines } from '../output.ts'

export const losses = (context: Context) =>
  new Command('loss').description('Write losses').addCommand(list(context)).addCommand(check(context))

const list = (context: Context) =>
  new Command('list')
    .description(
      'List losses: your own with the file of the newest version, and the gallery, whose files are there to copy.',
    )
    .action(async () => {
      const { dataDirectory, output } = context()
      await using host = createHost({ dataDirectory, servesQueue: false })
      const entries = [...ownLosses(host), ...gallery()]
      output.json(entries)
      const rows = entries.map(({ title, versions, file }) => [
        title,
        versions === null ? '' : String(versions),
        file,
      ])
      for (const line of tableLines(['loss', 'versions', 'file'], rows)) output.line(line)
    })

interface Listed {
  readonly title: string
  /** null: it comes with the program. */
  readonly versions: number | null
  /** What `algorithm.id` of a config may be. */
  readonly file: string
}

/** Those with a version. */
const ownLosses = (host: Host): Listed[] =>
  host.store.rewards.list('loss').flatMap(({ id, name: title }) => {
    const versions = host.store.rewards.versions(id)
    const [newest] = versions
    return newest === undefined
      ? []
      : [{ title, versions: versions.length, file: withFile(host, newest).file }]
  })

const gallery = (): (Listed & { readonly id: string })[] =>
  readLosses().map(({ id, file }) => ({ id, title: id, versions: null, file }))

const check = (context: Context) =>
  new Command('check')
    .description(
      'Check a loss before a run learns with it.\n\nLoads the code, tells what it says of itself, and looks on made-up sequences whether it can be learned from. Exit status 1 when a check fails; a run with it would be refused.',
    )
    .argument('<FILE>', 'code that exports defineLoss({ … }) as default, .ts or .js')
    .option('--settings <JSON>', 'values of its settings, such as {"clip": 0.3} (default: its own)')
    .action(async (file, { settings }) => {
      const { output } = context()
      const reference = codeReference(file)
      if (reference === null) throw usageError(`${file} is no file of code.`, 'It ends in .ts or .js.')
      const found = await checkCode(
        requireSandboxed(readRewardCode(reference), 'A loss'),
        settings === undefined ? {} : parsed(settings),
      )
      const { batch: _batch, ...told } = found
      output.json(told)
      for (const line of wordsOf(found)) output.line(line)
      conclude(found)
    })

function parsed(text: string): Record<string, unknown> {
  try {
    const json: unknown = JSON.parse(text)
    if (isObject(json)) return json
  } catch {
    // Said below.
  }
  throw usageError(`--settings is no JSON object: ${text}`, 'Such as --settings \'{"clip": 0.3}\'.')
}

function wordsOf({ description, recorded, checks }: LossCheck): string[] {
  if (description === null) return []
  const { title, experience, advantages, source, settings } = description
  const facts: [string, string][] = [
    ['Loss', title ?? 'without a title'],
    ['Learns from', experience],
    ['Advantages', advantages],
    ...settings.map((field): [string, string] => ['Setting', settingWords(field)]),
  ]
  if (source !== '') facts.push(['Paper', source])
  if (recorded !== null) {
    facts.push(['Needs', recorded.needs.join(', ') || 'nothing else'])
    facts.push(['Recorded', plural(recorded.operations, 'operation')])
    if (recorded.metrics.length > 0) facts.push(['Metrics', recorded.metrics.join(', ')])
  }
  return [...facts.map(([name, value]) => `${name.padEnd(12)} ${value}`), '', ...checkLines(checks)]
}

const settingWords = ({ key, default: usual, help, control }: SettingField): string =>
  [`${key.slice('algorithm.settings.'.length)} = ${JSON.stringify(usual)}`, help, rangeWords(control)]
    .filter((part) => part !== '')
    .join('  ')

const checkLines = (checks: LossCheck['checks']): string[] =>
  checks.map(
    ({ name, fault }) =>
      `${fault === null ? 'ok  ' : 'FAIL'}  ${name.padEnd(17)} ${fault?.message ?? lossCheckWords[name]}`,
  )

/** Errors: AppError 'loss/failed' where a run would be refused. */
function conclude({ problem, checks }: LossCheck): void {
  if (problem !== null) {
    const { message, line, column } = problem
    const where = line === null ? '' : ` (line ${line}, column ${column ?? 1})`
    throw new AppError('loss/failed', `The loss cannot be used${where}: ${message}`)
  }
  const failed = checks.filter(({ fault }) => fault !== null)
  if (failed.length === 0) return
  throw new AppError(
    'loss/failed',
    `${failed.length} of ${lossCheckNames.length} checks failed: ${failed.map(({ name }) => name).join(', ')}.`,
    'A run with this loss would be refused.',
  )
}

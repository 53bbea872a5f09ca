/** Commands about custom losses. */
import { Command } from '@commander-js/extra-typings'
import { codeReference } from '#shared/config/codeReference.ts'
import { isObject } from '#shared/config/paths.ts'
import { type SettingField, rangeWords } from '#shared/config/fields.ts'
import { AppError, usageError } from '#shared/errors.ts'
import { lossCheckNames, lossCheckWords } from '#shared/losses.ts'
import { plural } from '#shared/plural.ts'
import { checkCode, type LossCheck } from '#host/api/lossesService.ts'
import { readRewardCode, requireSandboxed } from '#host/code/rewardCode.ts'
import { listCode } from '../codeList.ts'
import { type Context } from '../command.ts'

export const losses = (context: Context) =>
  new Command('loss')
    .description('Write losses')
    .addCommand(listCode(context, 'losses', 'loss'))
    .addCommand(check(context))

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
    // Printed below.
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

const settingWords = ({ key, default: defaultValue, help, control }: SettingField): string =>
  [`${key.slice('algorithm.settings.'.length)} = ${JSON.stringify(defaultValue)}`, help, rangeWords(control)]
    .filter((part) => part !== '')
    .join('  ')

const checkLines = (checks: LossCheck['checks']): string[] =>
  checks.map(
    ({ name, fault }) =>
      `${fault === null ? 'ok  ' : 'FAIL'}  ${name.padEnd(17)} ${fault?.message ?? lossCheckWords[name]}`,
  )

/** Ends with the verdict. Errors: AppError 'loss/failed' if a run would be refused. */
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

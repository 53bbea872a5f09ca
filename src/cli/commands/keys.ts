/** Commands for consent to sending values of environment variables to other programs. */
import { Command } from '@commander-js/extra-typings'
import { plural } from '#shared/plural.ts'
import { type KeyUse, usageError } from '#shared/errors.ts'
import { keyUse } from '#shared/config/keyUses.ts'
import { parseRunConfig, type RunConfig } from '#shared/runConfig.ts'
import { keysOfConfig } from '#host/code/rewardCode.ts'
import { consentsFile, readConsents } from '#host/consents/consents.ts'
import { allowKeys, withdrawKeys } from '#host/consents/keys.ts'
import { readOwnConfig } from '#host/workFolder/runFolder.ts'
import { type CommandContext, type Context, group } from '../command.ts'
import { tableLines } from '../output.ts'

export const keys = (context: Context) =>
  group(context, 'key', 'Allow values of environment variables to be sent', [allow, list, withdraw])

const allow = (context: Context) =>
  new Command('allow')
    .description(
      'Allow the value of an environment variable to be sent to an address, as the key of a judge, a teacher or a rollout server.\n\nA config names the variable and the address, and may come from anybody: no config can allow it.',
    )
    .argument('<VARIABLE@ADDRESS...>', 'such as OPENAI_API_KEY@https://api.openai.com')
    .action((texts) => {
      const { dataDirectory, output } = context()
      const uses = texts.map(useOf)
      allowKeys(uses, consentsFile(dataDirectory))
      output.json(uses)
      for (const { variable, origin } of uses) output.line(`${variable} may be sent to ${origin}.`)
    })

function useOf(text: string): KeyUse {
  const [, variable, address] = /^([A-Za-z_]\w*)@(https?:\/\/.+)$/.exec(text) ?? []
  const use = keyUse(variable, address)
  if (use !== null) return use
  throw usageError(
    `${text} is no variable with an address.`,
    'Give VARIABLE@ADDRESS, such as OPENAI_API_KEY@https://api.openai.com.',
  )
}

const list = (context: Context) =>
  new Command('list').description('List which variables may be sent where').action(() => {
    const { dataDirectory, output } = context()
    const { keys: allowed } = readConsents(consentsFile(dataDirectory))
    output.json(allowed)
    const rows = allowed.map(({ variable, origin, at }) => [
      variable,
      origin,
      new Date(at).toISOString().slice(0, 16),
    ])
    if (rows.length === 0) output.line('No key may be sent anywhere.')
    else for (const line of tableLines(['variable', 'address', 'allowed'], rows)) output.line(line)
  })

const withdraw = (context: Context) =>
  new Command('withdraw')
    .description('Take back what was allowed; what runs now is not ended')
    .argument('[VARIABLE@ADDRESS...]', 'as allowed (default: everything)')
    .action((texts) => {
      const { dataDirectory, output } = context()
      const uses = texts.length === 0 ? null : texts.map(useOf)
      const count = withdrawKeys(uses, consentsFile(dataDirectory))
      output.json({ withdrawn: count })
      output.line(`Withdrew ${plural(count, 'consent')}.`)
    })

/** Allows all keys that a config names, for --trust-keys. */
export function allowKeysOf(
  config: RunConfig,
  { dataDirectory, output }: CommandContext,
  runDirectory: string | null = null,
): void {
  const uses = keysOfConfig(config, runDirectory)
  for (const { variable, origin } of uses) output.note(`${variable} may be sent to ${origin}.`)
  allowKeys(uses, consentsFile(dataDirectory))
}

/** Allows all keys that the config of a run names. */
export const allowRunKeys = (runDirectory: string, here: CommandContext): void =>
  allowKeysOf(parseRunConfig(readOwnConfig(runDirectory)), here, runDirectory)

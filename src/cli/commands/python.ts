/** Commands for consent to Python code, which is not sandboxed. */
import path from 'node:path'
import { Command } from '@commander-js/extra-typings'
import { codeReference } from '#shared/config/codeReference.ts'
import { usageError } from '#shared/errors.ts'
import { plural } from '#shared/plural.ts'
import { isWebAddress } from '#shared/config/addresses.ts'
import { shownText } from '#shared/shownText.ts'
import { parseRunConfig, type RunConfig } from '#shared/runConfig.ts'
import { consentsFile, readConsents } from '#host/consents/consents.ts'
import { readOwnConfig } from '#host/workFolder/runFolder.ts'
import {
  allowPython,
  type PythonReview,
  type PythonSource,
  reviewPython,
  withdrawPython,
} from '#host/python/consent.ts'
import { type McpSource, reviewServers } from '#host/python/mcpServers.ts'
import { engineSourceById, reviewEngine } from '#host/engines/engineCode.ts'
import { reviewRun, summary } from '#host/api/pythonService.ts'
import { absoluteReward, readRewardCode, reviewConfig } from '#host/code/rewardCode.ts'
import { type Context, group } from '../command.ts'
import { tableLines } from '../output.ts'

export const python = (context: Context) =>
  group(context, 'python', 'Allow Python code and MCP servers to run on this machine', [
    allow,
    list,
    withdraw,
  ])

const allow = (context: Context) =>
  new Command('allow')
    .description(
      'Allow Python files, or the MCP servers that a .json file names, to run on this machine, as they are now.\n\nThey are not sandboxed: the code can read and change your files, start programs and use the network. Allowed are the content of each file, and of what lies beside it and can be imported, and the interpreter; of a server its whole command with the files that it names, or its address. What changes afterwards must be allowed again. No config can do this.',
    )
    .argument(
      '<FILE...>',
      'Python files, gymnasium:ID, reasoning-gym, reasoning-gym-evaluating, engine:trl or .json files of MCP servers',
    )
    .option('--interpreter <PROGRAM>', 'Python program that runs them (default: python3)')
    .option('--as <FILE>', 'of a copy that a run keeps: the file that its config names')
    .option('--list', 'list what it would allow, and allow nothing')
    .action((files, { interpreter = null, as: original, list: isAsking = false }) => {
      const { dataDirectory, output } = context()
      if (original !== undefined && files.length > 1)
        throw usageError('Option --as is for one file.', 'Allow the copies one by one.')
      const consents = consentsFile(dataDirectory)
      const reviews = files.flatMap((file) => {
        const source = {
          ...sourceOf(file),
          ...(original === undefined ? {} : { file: path.resolve(original) }),
        }
        return source.language === 'json'
          ? reviewServers(source, consents)
          : [reviewPython(source, interpreter, consents)]
      })
      output.json(reviews)
      for (const line of reviewLines(reviews, isAsking ? 'Would be allowed' : 'Allowed')) output.line(line)
      if (!isAsking) allowPython(reviews, consents)
    })

function sourceOf(file: string): PythonSource | McpSource {
  const engine = engineSourceById(file)
  if (engine !== null) return engine
  const reference = codeReference(absoluteReward(file, process.cwd()))
  const code = reference === null ? null : readRewardCode(reference)
  if (code?.language === 'py' || code?.language === 'json') return code
  throw usageError(
    `${file} is no Python file.`,
    'Give a .py file, gymnasium:ID, reasoning-gym, engine:trl or a .json file of MCP servers.',
  )
}

const reviewLines = (reviews: readonly PythonReview[], word: string): string[] =>
  summary(reviews).flatMap(({ interpreter, files }) => [
    `${isWebAddress(interpreter) ? 'At' : 'Run by'} ${shownText(interpreter)}:`,
    ...files.map(({ path, isAllowed, copy }) => {
      const content = copy === undefined ? '' : `, with the content of the run's own copy ${shownText(copy)}`
      return `  ${isAllowed ? 'Already allowed' : word}  ${shownText(path)}${content}`
    }),
  ])

const list = (context: Context) =>
  new Command('list')
    .description('List the Python code, MCP servers and training scripts that may run on this machine')
    .action(() => {
      const { dataDirectory, output } = context()
      const allowed = readConsents(consentsFile(dataDirectory)).python
      output.json(allowed)
      const rows = allowed.map(({ sha256, at, interpreter, path }) => [
        ...[sha256.slice(0, 12), new Date(at).toISOString().slice(0, 16)],
        ...[shownText(interpreter), shownText(path)],
      ])
      if (rows.length === 0)
        output.line('No Python code, no MCP server and no training script may run on this machine.')
      else for (const line of tableLines(['content', 'allowed', 'run by', 'path'], rows)) output.line(line)
    })

const withdraw = (context: Context) =>
  new Command('withdraw')
    .description('Take back what was allowed; what runs now is not ended')
    .argument('[PATH...]', 'paths as list shows them (default: everything)')
    .action((paths) => {
      const { dataDirectory, output } = context()
      const count = withdrawPython(paths.length === 0 ? null : paths, consentsFile(dataDirectory))
      output.json({ withdrawn: count })
      output.line(`Withdrew ${plural(count, 'consent')}.`)
    })

/** Names the code of a config, then allows it, for --trust-python. */
export function allowConfig(config: RunConfig, { dataDirectory, output }: Place): void {
  const reviews = [...reviewConfig(config, null, dataDirectory), ...reviewEngine(config, dataDirectory)]
  trusting({ dataDirectory, output })(reviews, config)
}

/** Names and allows the code of a run, which has copies of its own. */
export const allowRun = (runDirectory: string, place: Place): void =>
  trusting(place)(reviewRun(runDirectory, place.dataDirectory), parseRunConfig(readOwnConfig(runDirectory)))

/** Lists the names in the code that a config calls, and their settings. */
const callLines = ({ rewards, environment }: Calling): string[] =>
  [...rewards, ...(environment === null ? [] : [environment])]
    .filter((entry) => ['py', 'json'].includes(codeReference(entry.function)?.language ?? ''))
    .map(({ function: id, settings }) => {
      const given = Object.keys(settings).length === 0 ? '' : ` with ${JSON.stringify(settings)}`
      return `The config calls ${shownText(`${id}${given}`)}`
    })

type Calling = Pick<RunConfig, 'rewards' | 'environment'>
type Place = Pick<ReturnType<Context>, 'dataDirectory' | 'output'>

/** Names the new files of the reviewed code, and what of it a config calls, new or not, then allows all of it. */
export const trusting =
  ({ dataDirectory, output }: Place) =>
  (reviews: readonly PythonReview[], config: Calling = { rewards: [], environment: null }): void => {
    const fresh = reviews.filter(({ files }) => files.some((file) => !file.isAllowed))
    const lines = [...reviewLines(fresh, 'Trusted'), ...callLines(config)]
    for (const line of lines) output.note(line)
    allowPython(reviews, consentsFile(dataDirectory))
  }

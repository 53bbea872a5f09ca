/**
 * MCP servers as an environment: their tools are what the policy may call, each row of the data set begins an episode, and a turn
 * without a call ends it, as `defineTools` has it. The servers are the same for all episodes, and what they remember is theirs.
 */
import { AppError } from '#shared/errors.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { parsedJson } from '#shared/parsedJson.ts'
import { isObject } from '#shared/config/paths.ts'
import { withRowSettings } from '#rl/environments/rowSettings.ts'
import type { Environment, EnvironmentAnswer, EpisodeAction } from '#rl/rollout/environment.ts'
import { promptContent, type PromptForm } from '#rl/rollout/prompts.ts'
import type { KeyPlace } from '#host/consents/keys.ts'
import { LostServer, McpConnection } from './mcpConnection.ts'
import { allowedServers, type McpSource } from './mcpServers.ts'

const known = {
  /** Turns of an episode, where the run does not say. */
  maxTurns: 8,
  /** Calls of an episode; more cut it short. */
  maxCalls: 16,
  /** A longer result is cut. */
  resultCharacters: 2000,
  /** The longest silence of a server in one call. */
  callSeconds: 60,
  /** Names of the tools that are offered, with commas; empty: all. */
  tools: '',
}
type Settings = Readonly<Record<string, string | number | boolean>>

export interface McpPlace extends KeyPlace {
  /** Called before another machine is contacted. */
  readonly onRequest: () => void
}

interface OfferedTool {
  readonly connection: McpConnection
  /** Name at the server. */
  readonly name: string
  readonly described: { readonly name: string; readonly [other: string]: unknown }
}

export interface McpEnvironmentOptions {
  readonly entry: NonNullable<RunConfig['environment']>
  readonly form: PromptForm
  /** True: reward functions of the config score the last turn; false: it earns 1 where it says the row's `answer`. */
  readonly isScored: boolean
}

/**
 * Connects to the servers of a file. Errors: AppError 'python/not-allowed', 'key/not-allowed', 'config/invalid'; 'sandbox/failed'
 * for a server that does not answer.
 */
export async function openMcp(
  source: McpSource,
  options: McpEnvironmentOptions,
  place: McpPlace,
): Promise<{ readonly environment: Environment } & AsyncDisposable> {
  const connections = allowedServers(source, place).map(
    (allowed) => new McpConnection(allowed, place.onRequest),
  )
  const close = async () => {
    await Promise.all(connections.map((each) => each[Symbol.asyncDispose]()))
  }
  try {
    const { settings, settingsFromRow: fromRow } = options.entry
    const tools = await offeredTools(connections)
    const create = (own: Settings) => mcpEnvironment(tools, { ...known, ...own }, options)
    return {
      environment: withRowSettings({ known, settings, fromRow, create }),
      [Symbol.asyncDispose]: close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** All tools, in the order of the servers; where two have one name, each has its server's before it. */
async function offeredTools(connections: readonly McpConnection[]): Promise<OfferedTool[]> {
  const lists = await Promise.all(
    connections.map(async (connection) => ({ connection, tools: await connection.tools() })),
  )
  const names = lists.flatMap(({ tools }) => tools.map(({ name }) => name))
  return lists.flatMap(({ connection, tools }) =>
    tools.map(({ name, description = '', inputSchema }) => {
      const isShared = names.indexOf(name) !== names.lastIndexOf(name)
      const own = isShared ? `${connection.name}_${name}` : name
      return { connection, name, described: { name: own, description, parameters: inputSchema } }
    }),
  )
}

/** Errors: AppError 'config/invalid' for settings that there are not, or tools. */
function mcpEnvironment(
  all: readonly OfferedTool[],
  settings: Settings & typeof known,
  { entry, form, isScored }: McpEnvironmentOptions,
): Environment {
  const tools = chosenTools(all, requireKnown(settings))
  const offered = tools.map(({ described }) => ({ type: 'function', function: described }))
  const table = new Map(tools.map((tool) => [tool.described.name, tool]))
  return {
    id: entry.function,
    description: 'Tools of MCP servers.',
    maxTurns: settings.maxTurns,
    reset: (starts) =>
      Promise.resolve(
        starts.map(({ row }) =>
          answered(() => ({
            state: { calls: 0, errors: 0 },
            observation: promptContent(row, 0, form),
            tools: offered,
            reward: null,
            terminated: false,
          })),
        ),
      ),
    step: (actions) =>
      Promise.all(
        actions.map(async (action) =>
          (action.calls?.length ?? 0) === 0
            ? answered(() => lastTurn(action, isScored))
            : await called(action, table, settings).catch(failure),
        ),
      ),
  }
}

function requireKnown(settings: Settings & typeof known): typeof known {
  for (const [name, value] of Object.entries(settings)) {
    const standard = (known as Settings)[name]
    const isGood = typeof value === typeof standard && (typeof value !== 'number' || value > 0)
    if (isGood) continue
    throw new AppError(
      'config/invalid',
      standard === undefined
        ? `environment.settings: MCP servers have no setting “${name}”.`
        : `environment.settings.${name} is to be ${typeof standard === 'number' ? 'a number above 0' : 'a text'}.`,
      `Their settings: ${Object.keys(known).join(', ')}.`,
    )
  }
  return settings
}

function chosenTools(all: readonly OfferedTool[], { tools }: typeof known): readonly OfferedTool[] {
  const names = tools
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean)
  const chosen = names.length === 0 ? all : all.filter(({ described }) => names.includes(described.name))
  const missing = names.find((name) => !chosen.some(({ described }) => described.name === name))
  if (missing === undefined && chosen.length > 0) return chosen
  throw new AppError(
    'config/invalid',
    missing === undefined
      ? 'The MCP servers offer no tools.'
      : `environment.settings.tools: no MCP server offers “${missing}”.`,
    `They offer: ${all.map(({ described }) => described.name).join(', ') || 'none'}.`,
  )
}

/** A row that cannot be played fails alone. */
function answered(answer: () => EnvironmentAnswer): EnvironmentAnswer {
  try {
    return answer()
  } catch (error) {
    return failure(error)
  }
}

/** Errors: whatever is no fault of a row or a server. */
function failure(error: unknown): EnvironmentAnswer {
  if (error instanceof LostServer || error instanceof AppError) return { failure: { message: error.message } }
  throw error
}

interface State {
  readonly calls: number
  readonly errors: number
}

/** Numbers to chart and to look at. */
function logged({ calls, errors }: State, more: Readonly<Record<string, number>> = {}) {
  const numbers = { 'tool calls': calls, 'tool errors': errors, ...more }
  return { columns: numbers, metrics: numbers }
}

function lastTurn({ row, action, state }: EpisodeAction, isScored: boolean): EnvironmentAnswer {
  const turn = { state, observation: null, terminated: true }
  if (isScored) return { ...turn, reward: null, ...logged(state as State) }
  const { answer = null } = row
  if (answer === null)
    throw new AppError('data/invalid', 'The row has no column “answer”: give the run a reward function.')
  const reward = plainWords(action).includes(
    plainWords(typeof answer === 'string' ? answer : JSON.stringify(answer)),
  )
    ? 1
    : 0
  return { ...turn, reward, ...logged(state as State, { correct: reward }) }
}

/** Words in lower case between blanks, as `defineTools` compares them. */
const plainWords = (text: string): string =>
  ` ${text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}.-]+/gu, ' ')
    .replace(/\.+(?= |$)/g, '')
    .trim()} `

/** Makes the calls of a turn one after the other. Errors: LostServer. */
async function called(
  { calls = [], state: before }: EpisodeAction,
  table: ReadonlyMap<string, OfferedTool>,
  { maxCalls, resultCharacters, callSeconds }: typeof known,
): Promise<EnvironmentAnswer> {
  let state = before as State
  const messages = []
  for (const call of calls.slice(0, maxCalls - state.calls)) {
    const tool = table.get(call.name)
    const given = parsedJson(call.arguments)
    const { text, isError } =
      tool === undefined
        ? { text: `Error: there is no tool "${call.name}".`, isError: true }
        : await tool.connection.call(tool.name, isObject(given) ? given : {}, callSeconds)
    state = { calls: state.calls + 1, errors: state.errors + (isError ? 1 : 0) }
    // Nine letters and digits, as Mistral's templates want them.
    const id = `call${`${state.calls}`.padStart(5, '0')}`
    const content = text.length > resultCharacters ? `${text.slice(0, resultCharacters)}…` : text
    messages.push({ role: 'tool', name: call.name, tool_call_id: id, content })
  }
  const truncated = messages.length < calls.length
  return { state, observation: messages, reward: null, terminated: false, truncated, ...logged(state) }
}

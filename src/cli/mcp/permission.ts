/** Permissions of clients of `turnwise mcp`: reading is free, the rest the owner of the machine allows once for each client. */
import { type Permission, permissionWords } from '#shared/api/agents.ts'
import type { Api } from '#shared/api/api.ts'
import type { Client } from '#shared/api/client.ts'
import type { InputOf } from '#shared/api/contract.ts'
import { isOnThisMachine, isWebAddress } from '#shared/config/addresses.ts'
import { codeReference } from '#shared/config/codeReference.ts'
import { isObject } from '#shared/config/paths.ts'
import { refusal } from '#shared/errors.ts'
import { changesOfRun } from '#host/runs/settingChanges.ts'
import { readOwnConfig } from '#host/workFolder/runFolder.ts'
import { allowAgent, mayAgent } from '#host/consents/agents.ts'

export interface Asking {
  /** File of the consents of this machine. */
  readonly consents: string
  /** Kinds that the command line allows. */
  readonly allowed: readonly Permission[]
  /** Name that the client gives itself. */
  readonly client: string
  /** Asks the person in the client; null: it cannot ask. */
  readonly ask: ((question: string) => Promise<boolean>) | null
}

export type ReadFiles = InputOf<Api, 'python.review'>

/** Errors: AppError 'api/refused' where the person has not allowed it. */
export async function requirePermission(kind: Permission, asking: Asking, origin = ''): Promise<void> {
  const { allowed, client, consents, ask } = asking
  const key = [kind, origin].filter(Boolean).join(' ')
  if (allowed.includes(kind) || mayAgent(client, key, consents)) return
  const what = permissionWords(key)
  const isAllowed = ask !== null && (await ask(`May ${client} ${what}, now and later? Turnwise asks once.`))
  if (!isAllowed) {
    throw refusal(
      `${client} may not ${what}${ask === null ? '' : ': the person at the client was asked and did not allow it'}.`,
      {
        text: 'Nothing was done. Ask the person; to allow it, they add this option to the command that the client starts:',
        command: `turnwise mcp --allow ${kind}`,
      },
    )
  }
  allowAgent(client, key, consents)
}

/**
 * Requires permission for every origin, and looks again after each round of questions: the files may have changed while the person read
 * them. Errors: as `requirePermission`, and those of `origins`.
 */
export async function requireSending(
  origins: () => Promise<readonly string[]>,
  asking: Asking,
): Promise<void> {
  const allowed = new Set<string>()
  for (;;) {
    const wanted = (await origins()).filter((origin) => !allowed.has(origin))
    if (wanted.length === 0) return
    for (const origin of wanted) {
      await requirePermission('send', asking, origin)
      allowed.add(origin)
    }
  }
}

/**
 * Origins on other machines that arguments of a tool name, or the config of the run that they name, or the files that are read then.
 * `read`: in question to the host, where they are not just those that the arguments name.
 */
export async function originsOf(
  client: Client<Api>,
  input: unknown,
  read: ReadFiles | null,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { runId = null, subject = null } = isObject(input) ? input : {}
  const run = runId ?? (isObject(subject) ? subject['runId'] : null)
  const settings =
    typeof run === 'string' ? settingsIn(await client.call('runs.get', { runId: run }, { signal })) : []
  const named = environmentsIn(input).map((id) => ({ functions: [id], interpreter: null }))
  const asked = [...named, ...(read === null ? [] : [read])]
  const servers = await Promise.all(asked.map((each) => serversOf(client, each, signal)))
  return [...new Set([...addressesIn(input), ...addressesIn(settings), ...servers.flat()])]
}

/** Lists origins of the MCP servers among what is asked. Errors: as `python.review`; what cannot be looked at is not started. */
async function serversOf(client: Client<Api>, asked: ReadFiles, signal: AbortSignal): Promise<string[]> {
  const reviewed = await client.call('python.review', asked, { signal })
  return reviewed.flatMap(({ interpreter }) => addressesIn(interpreter))
}

/** Lists files of MCP servers that settings name. */
function environmentsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  const own = Object.entries(value).flatMap(([key, inner]: [string, unknown]) =>
    key.endsWith('function') && typeof inner === 'string' && codeReference(inner)?.language === 'json'
      ? [inner]
      : [],
  )
  return [...own, ...Object.values(value).flatMap(environmentsIn)]
}

/** All settings that a run had: the history's, and those in its folder, from which it goes on. Errors: AppError 'file/unreadable'. */
const settingsIn = ({ config, directory }: { readonly config: string; readonly directory: string }) => [
  JSON.parse(config) as unknown,
  readOwnConfig(directory),
  changesOfRun(directory),
]

function addressesIn(value: unknown): string[] {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(addressesIn)
  return typeof value === 'string' && isWebAddress(value) && !isOnThisMachine(value)
    ? [new URL(value).origin]
    : []
}

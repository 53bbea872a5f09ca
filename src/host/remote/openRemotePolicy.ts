/** Opens a policy that acts on rollout servers, from the settings of a run. */
import { serverUrls } from '#shared/config/addresses.ts'
import type { AdapterRole } from '#engine/policy.ts'
import type { LoraConfig } from '#engine/models/config.ts'
import type { Tokenizer } from '#engine/text/tokenizer.ts'
import { allowedKey, type KeyPlace } from '#host/consents/keys.ts'
import { AdapterVersions } from './adapterVersions.ts'
import { GapCheck } from './gapCheck.ts'
import { type LearningPolicy, RemotePolicy } from './remotePolicy.ts'
import { RolloutServer } from './rolloutServer.ts'
import { ServerPool } from './serverPool.ts'
import type { ServerSettings } from './settings.ts'
import { checkAdapter, checkServer } from './startUp.ts'

export interface RemotePolicyOptions {
  readonly settings: ServerSettings
  readonly lora: LoraConfig
  /** Hub id of the base model, if known. */
  readonly baseModel: string | null
  /** Folder of the base model, named in the command that starts a server. */
  readonly modelFolder: string
  /** Names of adapters begin with it; no other living process uses it. */
  readonly name: string
  /** Snapshots that may be open at the same time. */
  readonly snapshots: number
  readonly tokenizer: Pick<Tokenizer, 'encode'>
  /** Called before every request, with the address of the server. */
  readonly onRequest: (url: string) => void
  readonly keys: KeyPlace
}

/** Opens the connections and checks the servers, with the adapter as it is now. Errors: AppError 'server/…', 'key/not-allowed', 'config/invalid', 'file/unwritable'. */
export async function openRemotePolicy(
  local: LearningPolicy,
  options: RemotePolicyOptions,
): Promise<RemotePolicy> {
  const { settings, lora, baseModel, name, tokenizer } = options
  const { maxConcurrent, retries, gapLimit } = settings
  const servers: ServerPool = new ServerPool({
    servers: serversOf(local, options),
    maxConcurrent,
    retries,
    onReturn: (server) => versions.clearLeftovers(server),
  })
  const tensors = (role: AdapterRole) => local.adapterTensors(role)
  const versions = new AdapterVersions({ servers, settings, lora, baseModel, name, tensors })
  const startUp = { policy: local, tokenizer, gapLimit }
  const limits = new Set<number>()
  const admit = async (server: RolloutServer) => {
    const limit = await checkServer({ ...startUp, server })
    if (limit !== null) limits.add(limit)
    await versions.clearLeftovers(server)
  }
  try {
    await servers.open(admit)
    using actor = await versions.use('actor')
    await servers.onEach((server) => checkAdapter({ ...startUp, server }, actor.name))
    const admitLate = async (server: RolloutServer) => {
      await admit(server)
      using newest = await versions.use('actor')
      await newest.reload(server)
      await checkAdapter({ ...startUp, server }, newest.name)
    }
    const contextLength = () => (limits.size === 0 ? null : Math.min(...limits))
    const gaps = new GapCheck(startUp)
    return new RemotePolicy({ local, servers, versions, settings, gaps, admit: admitLate, contextLength })
  } catch (error) {
    await versions.clear()
    servers[Symbol.dispose]()
    throw error
  }
}

function serversOf(local: LearningPolicy, options: RemotePolicyOptions): RolloutServer[] {
  const { settings, lora, onRequest } = options
  const launch = {
    model: settings.model ?? options.modelFolder,
    rank: lora.rank,
    adapters: Math.max(settings.keepVersions, options.snapshots + 1) + 1,
    contextLength: local.contextLength,
  }
  return serverUrls(settings).map((url) => {
    const named = { variable: settings.apiKeyVariable, address: url, who: 'rollout server' }
    const apiKey = allowedKey(named, options.keys)
    return new RolloutServer({ url, settings, apiKey, onRequest, launch })
  })
}

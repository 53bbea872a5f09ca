/** A policy here, a server of either kind beside it, and what tests ask of both. */
import { serverUrls } from '#shared/config/addresses.ts'
import { keyUse } from '#shared/config/keyUses.ts'
import { allowKeys } from '#host/consents/keys.ts'
import type { ServerSettings } from '#host/remote/settings.ts'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, beforeAll } from 'vitest'
import type { Completion, GenerateOptions, GenerationRequest, SamplingOptions } from '#engine/policy.ts'
import type { LoraConfig } from '#engine/models/config.ts'
import { loraSlots } from '#engine/models/lora.ts'
import { createOrtPolicy, type OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { loadTokenizer } from '#host/models/tokenizerFolder.ts'
import { asFloat32Source } from '#host/models/weightCache.ts'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import { ownLogprobs } from '#host/remote/startUp.ts'
import { openRemotePolicy } from '#host/remote/openRemotePolicy.ts'
import type { RemotePolicy } from '#host/remote/remotePolicy.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { LoopbackServer, type Kind } from './loopbackServer.ts'

export const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-remote-'))
export const starter = path.join(resourcesDirectory, 'starter')
const cache = path.join(folder, 'cache')
const { tokenizer } = loadTokenizer(starter)
const lora: LoraConfig = {
  rank: 2,
  alpha: 4,
  rsLora: false,
  targets: openModelFolder(starter).config.linears,
}
export let local: OrtPolicy

export const decode = (ids: readonly number[]) => tokenizer.decode(ids, { skipSpecialTokens: true })
const sampling: SamplingOptions = {
  greedy: false,
  temperature: 1,
  topK: 0,
  topP: 1,
  minP: 0,
  repetitionPenalty: 1,
  minNewTokens: 0,
  maxNewTokens: 8,
  stopIds: [],
  stopStrings: [],
}
export const options = (changes: Partial<SamplingOptions> = {}): GenerateOptions => ({
  role: 'actor',
  sampling: { ...sampling, ...changes },
  decode,
})
export const promptIds = (text: string) => tokenizer.encode(text, { addSpecialTokens: false })
export const requests: readonly GenerationRequest[] = ['1 + 2 =', 'Say 7', 'abc'].map((text, prompt) => ({
  promptIds: promptIds(text),
  streams: [randomStream(3, prompt, 0), randomStream(3, prompt, 1)],
}))

export async function completionsOf(
  policy: Pick<RemotePolicy | OrtPolicy, 'generate'>,
  given = options(),
): Promise<Completion[]> {
  const found: Completion[] = []
  for await (const completion of policy.generate(requests, given)) found.push(completion)
  return found.sort((a, b) => a.request - b.request || a.sample - b.sample)
}

/** Far from zero, so that the adapter changes every number. */
export function disturb(policy: OrtPolicy, seed: number): void {
  const random = new SequentialRandom(randomStream(seed))
  const { config } = openModelFolder(starter)
  const tensors = loraSlots(config, lora).map(({ name, shape, size }) => ({
    name,
    shape,
    data: Float32Array.from({ length: size }, () => 0.1 * random.normal()),
  }))
  policy.restoreAdapter('actor', tensors)
}

/** One real update, whose gradient does not matter. */
export async function update(policy: RemotePolicy): Promise<void> {
  const ids = promptIds('1 + 2 = 3')
  const actionMask = new Uint8Array(ids.length - 1).fill(1)
  await policy.accumulate([{ ids, actionMask }], { temperature: 1, entropyGradient: false }, () => [
    { logprobs: new Float64Array(ids.length - 1).fill(1), entropies: null, values: null },
  ])
  await policy.update({ learningRates: { actor: 0.01, critic: 0.01 }, maxGradNorm: Infinity })
}

beforeAll(async () => {
  local = await createOrtPolicy({
    source: await asFloat32Source(openModelFolder(starter), cache),
    device: { kind: 'cpu', threads: 1, deviceId: 0 },
    lora,
    loraSeed: 1,
    rolloutPrecision: 'f32',
    activations: 'recompute',
    maxRows: 4,
  })
  disturb(local, 5)
})

afterAll(() => {
  local[Symbol.dispose]()
  rmSync(folder, { recursive: true, force: true })
})

/** Our own log-probabilities of a completion. */
export const ownOf = (completion: Completion, temperature = 1): Promise<Float64Array[]> =>
  ownLogprobs(local, [{ promptIds: requests[completion.request]!.promptIds, ids: completion.ids }], {
    role: 'actor',
    temperature,
  })

/** Consents of a machine whose owner allows what the settings name. */
function allowing(settings: ServerSettings): string {
  const consents = path.join(mkdtempSync(path.join(folder, 'machine-')), 'consents.json')
  const uses = serverUrls(settings).map((url) => keyUse(settings.apiKeyVariable, url))
  allowKeys(
    uses.filter((use) => use !== null),
    consents,
  )
  return consents
}

/** A policy on the servers that the settings name. */
export function openOn(
  given: Record<string, unknown>,
  environment: Record<string, string> = {},
): Promise<RemotePolicy> {
  const { server: settings } = parseRunConfig({
    model: 'm',
    data: { train: 't' },
    rewards: [{ function: 'f' }],
    rollout: { server: given },
  }).rollout
  if (settings === null) throw new Error('Expected settings, got none.')
  return openRemotePolicy(local, {
    settings,
    lora,
    baseModel: null,
    modelFolder: '/models/starter',
    name: 'run_test',
    snapshots: 1,
    tokenizer,
    onRequest: () => undefined,
    keys: { consents: allowing(settings), environment },
  })
}

/** To be called inside a `describe`. */
export function serveAs(kind: Kind) {
  const server = new LoopbackServer(kind, starter, cache)
  const adapterFolder = path.join(folder, `adapters-${kind}`)

  beforeAll(async () => {
    await server.start()
  })
  afterAll(() => server.dispose())
  afterEach(() => {
    server.reset()
    rmSync(adapterFolder, { recursive: true, force: true })
  })

  const open = (changes: Record<string, unknown> = {}, environment: Record<string, string> = {}) =>
    openOn({ kind, url: server.url, adapterFolder, retries: 3, ...changes }, environment)
  const generated = () =>
    server.received.filter(({ path: place }) => place === '/v1/completions' || place === '/generate')

  return { server, adapterFolder, open, generated }
}

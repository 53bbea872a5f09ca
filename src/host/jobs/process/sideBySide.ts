/** Compares adapters of one base model: the base is opened once, and each adapter has a role of its own. */
import type { HeldPrecision } from '#shared/precision.ts'
import type { LoraConfig } from '#engine/models/config.ts'
import type { AnsweringRole } from '#engine/runtime/adapterParameters.ts'
import { int8Form } from '#engine/runtime/device.ts'
import { createOrtPolicy, type OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { underConfig, unionOf } from '#host/adapters/peftPatterns.ts'
import { asPolicySource } from '#host/models/baseCache.ts'
import { openModelFolder, type ModelFolder } from '#host/models/modelFolder.ts'
import type { Adapter } from '#host/adapters/peft.ts'
import {
  chooseDevice,
  noAdapter,
  openAdapter,
  type DeviceRequest,
  type OpenedModel,
} from '#host/models/openModel.ts'
import type { Candidate } from '#host/models/completionJobs.ts'

export interface SideBySideRequest {
  readonly candidates: readonly Candidate[]
  readonly device: DeviceRequest
  /** Rows generated together. */
  readonly maxRows: number
  readonly cacheDirectory: string
}

/** A base and the models that share it. */
export interface OpenedGroup extends Disposable {
  readonly policy: OrtPolicy
  /** Members by their place in the request. */
  readonly members: readonly (readonly [candidate: number, model: OpenedModel])[]
}

/**
 * One group after the other, in the order of their first members: the next is opened when this one is disposed. A base that
 * an adapter was trained on in blocks, or for another context, is another base. Errors: as `openModel`.
 */
export async function* openGroups(request: SideBySideRequest): AsyncGenerator<OpenedGroup> {
  const found = request.candidates.map((candidate, place) => ({ place, ...readCandidate(candidate) }))
  const groups = Map.groupBy(found, ({ folder, base }) =>
    [base, folder.config.contextLength, folder.directory].join(' '),
  )
  for (const members of groups.values()) yield await openGroup(members, request)
}

interface Found {
  readonly folder: ModelFolder
  /** null: the base alone. */
  readonly adapter: Adapter | null
  readonly base: HeldPrecision
}

function readCandidate({ directory, adapter: place, contextLength = null }: Candidate): Found {
  const folder = openModelFolder(directory, { contextLength })
  const adapter = place === null ? null : openAdapter(place, folder)
  return { folder, adapter, base: adapter?.base ?? 'f32' }
}

type Member = Found & { readonly place: number }

async function openGroup(
  members: readonly Member[],
  { device: requested, maxRows, cacheDirectory }: SideBySideRequest,
): Promise<OpenedGroup> {
  const [first] = members
  if (first === undefined) throw new Error('Expected a group with members.')
  const { folder, base } = first
  const lora = sharedConfig(members)
  const device = await chooseDevice(requested)
  const precisions = { base, rollout: 'f32', int8Form: int8Form(device) } as const
  const policy = await createOrtPolicy({
    source: await asPolicySource(folder, precisions, cacheDirectory),
    device,
    lora,
    loraSeed: 0,
    rolloutPrecision: 'f32',
    activations: 'recompute',
    maxRows,
  })
  const roleOf = (member: Member): AnsweringRole => {
    if (member.adapter === null) return 'base'
    const role = `named ${String(member.place)}` as const
    policy.addAdapter(role, underConfig(member.adapter, lora, folder.config))
    return role
  }
  // The group is what is disposed, not one of its members.
  const opened = (role: AnsweringRole): OpenedModel => ({
    folder,
    policy,
    role,
    [Symbol.dispose]: () => undefined,
  })
  return {
    policy,
    members: members.map((member) => [member.place, opened(roleOf(member))]),
    [Symbol.dispose]: () => policy[Symbol.dispose](),
  }
}

function sharedConfig(members: readonly Member[]): LoraConfig {
  const [first, ...others] = members.flatMap(({ adapter }) => (adapter === null ? [] : [adapter.config]))
  return first === undefined ? noAdapter : unionOf([first, ...others])
}

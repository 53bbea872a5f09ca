/** Facts of a run for its header. */
import { serverUrls } from '#shared/config/addresses.ts'
import type { ExperienceKind } from '#shared/experience.ts'
import { deviceKinds, deviceTitles, type DeviceKind } from '#shared/device.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { toolTitles } from '#shared/tools.ts'
import { lastPart, plural } from '#renderer/client/format.ts'
import type { StoredEvent } from '#renderer/client/runs.ts'
import { fileReference } from '#renderer/parts/rewardLibrary.ts'

export interface KnownAlgorithm {
  readonly id: string
  readonly experience: ExperienceKind
}

/** Kinds of experience of its algorithms; a run of several stages may have several. */
export function experiencesOf(
  { algorithm, stages }: Pick<RunConfig, 'algorithm' | 'stages'>,
  known: readonly KnownAlgorithm[],
): readonly ExperienceKind[] {
  const ids =
    stages.length === 0 ? [algorithm.id] : stages.map((stage) => stage.algorithm?.id ?? algorithm.id)
  return [...new Set(known.filter(({ id }) => ids.includes(id)).map(({ experience }) => experience))]
}

/** Weights by the rewards' names on charts. */
export const rewardWeights = ({ rewards }: Pick<RunConfig, 'rewards'>): ReadonlyMap<string, number> =>
  new Map(rewards.map((reward) => [rewardName(reward), reward.weight]))

/** Name of a reward in runs: its own, for a file the part after # or the file name, for a built-in its id. */
export const rewardName = ({
  function: id,
  name,
}: {
  readonly function: string
  readonly name?: string | undefined
}) => name ?? /\.[cm]?[jt]s#(.+)$/.exec(id)?.[1] ?? lastPart(id).replace(/\.[cm]?[jt]s$/, '')

/** Name of a data set, whose folder is named by a digest, if it is known. */
export function dataName(train: RunConfig['data']['train'], names: ReadonlyMap<string, string>): string {
  if (typeof train !== 'string') return plural(train.episodes, 'episode')
  const name = lastPart(train)
  return names.get(name) ?? (/^[0-9a-f]{64}$/.test(name) ? `data ${name.slice(0, 8)}` : name)
}

/** Device of a run as reported at its start. */
export function deviceOf(events: readonly StoredEvent[]): DeviceKind | null {
  const said = events.findLast(({ event }) => event.type === 'device')
  return said === undefined ? null : deviceOfEvent(said.event)
}

export function deviceOfEvent({ device: said }: StoredEvent['event']): DeviceKind | null {
  const kind = typeof said === 'object' && said !== null && 'kind' in said ? said.kind : null
  return deviceKinds.find((known) => known === kind) ?? null
}

export const deviceWords = (kind: DeviceKind): string => (kind === 'cpu' ? 'the CPU' : deviceTitles[kind])

const serverTitles = { vllm: 'vLLM', sglang: 'SGLang' } as const

/** Source of its completions, unless it is this machine. */
export function serverWords({ rollout: { server } }: Pick<RunConfig, 'rollout'>): string | null {
  // A run of an earlier version has no such setting.
  if (!server) return null
  const hosts = serverUrls(server).map((url) => URL.parse(url)?.host ?? url)
  const others = hosts.length > 1 ? ` and ${plural(hosts.length - 1, 'other server')}` : ''
  return `rollouts by ${serverTitles[server.kind]} on ${hosts[0] ?? ''}${others}`
}

/** Trainer, unless it is Turnwise. */
export function engineWords({ engine }: Pick<RunConfig, 'engine'>): string | null {
  // A run of an earlier version has no such setting.
  const { kind, processes, launcher } = (engine as RunConfig['engine'] | undefined) ?? {
    kind: 'local',
    processes: null,
    launcher: 'python',
  }
  if (kind === 'local') return null
  const many = processes === null || processes === 1 ? '' : ` in ${processes} processes`
  return `trained by ${toolTitles[kind]}${many}${launcher === 'ray' ? ' on a Ray cluster' : ''}`
}

/** Route to the code of a run's reward: in the library, among the built-ins, or a separate file. */
export function rewardRoute(rewards: RunConfig['rewards'], name: string): string {
  const id = rewards.find((reward) => rewardName(reward) === name)?.function
  if (id === undefined) return '/rewards'
  const own = fileReference(id)
  if (own !== null) return `/rewards/${own.rewardId}`
  return /[\\/]/.test(id) ? '/rewards' : `/rewards/builtin.${id}`
}

export function rewardWords(config: Pick<RunConfig, 'rewards' | 'environment'>): string | null {
  const names = config.rewards.map(rewardName)
  if (names.length > 0)
    return names.length > 3
      ? `${names.slice(0, 2).join(' + ')} + ${String(names.length - 2)} more`
      : names.join(' + ')
  return config.environment === null ? null : rewardName(config.environment)
}

/** Environment variables whose values a run sends to other programs, and their destinations. */
import { stagesOf, type RunConfig } from '../runConfig.ts'
import type { KeyUse } from '../errors.ts'
import { isWebAddress, serverUrls } from './addresses.ts'
import { judgeFunction, type GivenJudgeSettings } from './judge.ts'

/** Returns the use of a variable; null without a variable, or without a valid address. */
export function keyUse(variable: unknown, address: unknown): KeyUse | null {
  if (typeof variable !== 'string' || variable === '') return null
  if (typeof address !== 'string' || !isWebAddress(address)) return null
  return { variable, origin: new URL(address).origin }
}

/** Lists the key of a judge or a teacher; none if the model is on this machine. */
export function judgeKeys({ model = '', keyVariable, address }: GivenJudgeSettings): KeyUse[] {
  const use = model === '' ? keyUse(keyVariable, address) : null
  return use === null ? [] : [use]
}

/** Lists the keys of judges and teachers behind an address and of rollout servers, in every stage, each once. */
export function keyUsesOf(config: RunConfig): KeyUse[] {
  const uses = [config, ...stagesOf(config)].flatMap(({ rewards, rollout, reference }) => [
    ...rewards.flatMap(({ function: id, settings }) => (id === judgeFunction ? judgeKeys(settings) : [])),
    ...[rollout.server, reference.server].flatMap((server) =>
      server === null ? [] : serverUrls(server).map((url) => keyUse(server.apiKeyVariable, url)),
    ),
  ])
  return uniqueUses(uses.filter((use) => use !== null))
}

export const keyText = ({ variable, origin }: KeyUse): string => `${variable}@${origin}`

const uniqueUses = (uses: readonly KeyUse[]): KeyUse[] => [
  ...new Map(uses.map((use) => [keyText(use), use])).values(),
]

/** Environment variables whose values a run sends to other programs, and where to. */
import { stagesOf, type RunConfig } from '../runConfig.ts'
import type { KeyUse } from '../errors.ts'
import { serverUrls } from './addresses.ts'
import { judgeFunction, type GivenJudgeSettings } from './judge.ts'

/** null where no variable is named, or no address that could be asked. */
export function keyUse(variable: unknown, address: unknown): KeyUse | null {
  const origin = typeof address === 'string' ? (URL.parse(address)?.origin ?? null) : null
  return typeof variable === 'string' && variable !== '' && origin !== null ? { variable, origin } : null
}

/** Of one model that is asked, on this machine or behind an address. */
export function judgeKeys({ model = '', keyVariable, address }: GivenJudgeSettings): KeyUse[] {
  const use = model === '' ? keyUse(keyVariable, address) : null
  return use === null ? [] : [use]
}

/** Of judges behind an address and of rollout servers, in every stage; each once. */
export function keyUsesOf(config: RunConfig): KeyUse[] {
  const uses = [config, ...stagesOf(config)].flatMap(({ rewards, rollout: { server } }) => [
    ...rewards.flatMap(({ function: id, settings }) => (id === judgeFunction ? judgeKeys(settings) : [])),
    ...(server === null ? [] : serverUrls(server).map((url) => keyUse(server.apiKeyVariable, url))),
  ])
  return uniqueUses(uses.filter((use) => use !== null))
}

export const keyText = ({ variable, origin }: KeyUse): string => `${variable}@${origin}`

const uniqueUses = (uses: readonly KeyUse[]): KeyUse[] => [
  ...new Map(uses.map((use) => [keyText(use), use])).values(),
]

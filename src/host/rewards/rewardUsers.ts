/** Which runs were trained with which version of a reward or environment, told by the code that they name. */
import path from 'node:path'
import { z } from 'zod'
import { codeReference } from './rewardCode.ts'
import type { Store } from '#host/store/store.ts'

const named = z.object({ function: z.string() })
const configSchema = z.object({ rewards: z.array(named).default([]), environment: named.nullish() })

export function usersOf(store: Store, rewardId: string): { runId: string; version: string }[] {
  const versions = new Set(store.rewards.versions(rewardId).map(({ hash }) => hash))
  return store.runs.list().flatMap(({ id: runId }) => {
    const used = versionsIn(store.runs.get(runId).config, rewardId)
    return [...used].filter((version) => versions.has(version)).map((version) => ({ runId, version }))
  })
}

/** Files are `<reward>/<version>.ts`. */
function versionsIn(config: string, rewardId: string): Set<string> {
  // Most runs use built-ins: they need not be parsed.
  if (!config.includes(rewardId)) return new Set()
  const parsed = configSchema.safeParse(JSON.parse(config))
  const { rewards = [], environment } = parsed.data ?? {}
  const all = environment ? [...rewards, environment] : rewards
  const files = all.flatMap((each) => codeReference(each.function)?.file ?? [])
  const own = files.filter((file) => path.basename(path.dirname(file)) === rewardId)
  return new Set(own.map((file) => path.parse(file).name))
}

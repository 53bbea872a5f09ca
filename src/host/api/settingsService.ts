/** Settings of the program, and what the settings of runs mean. */
import { z } from 'zod'
import type { Handlers } from '#shared/api/contract.ts'
import type { settingsApi } from '#shared/api/settings.ts'
import { fieldsOf } from '#shared/config/fields.ts'
import { AppError } from '#shared/errors.ts'
import { algorithms } from '#rl/algorithms/registry.ts'
import { toolNames } from '#host/exchange/tools.ts'
import type { Host } from '#host/host.ts'
import { newsOf, stampOf } from './feeds.ts'

export const settingsService = ({ store, bell }: Host): Handlers<typeof settingsApi> => {
  const all = () => Object.fromEntries([...store.settings.all()].filter(([key]) => !isPrivate(key)))
  return {
    all,
    get: ({ key }) => (isPrivate(key) ? null : (store.settings.get(key) ?? null)),

    set({ key, value }) {
      if (isPrivate(key)) throw new AppError('api/refused', `The setting ${key} is kept by the host itself.`)
      store.settings.set(key, value ?? undefined)
      bell.ring()
    },

    algorithms: () =>
      algorithms.map(({ id, title, description, experience, groupSize, settings }) => ({
        ...{ id, title, description, experience, groupSize },
        settings: fieldsOf(settings, 'algorithm.settings'),
      })),

    toolNames,

    async *watch(_input, { from, signal }) {
      let seen = readStamps(from)
      yield* newsOf({ bell, signal }, () => {
        const values = all()
        const now = Object.fromEntries(Object.keys(values).map((key) => [key, stampOf(values[key])]))
        const keys = [...new Set([...Object.keys(now), ...Object.keys(seen)])]
        const other = keys.filter((key) => now[key] !== seen[key])
        if (other.length === 0) return null
        seen = now
        const changed = Object.fromEntries(other.map((key) => [key, values[key] ?? null]))
        return { cursor: JSON.stringify(now), changed }
      })
    },
  }
}

/** What a host notes for the next one. */
const isPrivate = (key: string): boolean => key.startsWith('host.')

/** What the reader knows of each setting; nothing where the cursor is not one of ours. */
function readStamps(cursor: string | null): Readonly<Record<string, string>> {
  try {
    return z.record(z.string(), z.string()).parse(JSON.parse(cursor ?? '{}'))
  } catch {
    return {}
  }
}

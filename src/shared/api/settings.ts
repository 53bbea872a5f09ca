/** Settings of the program, and what the window remembers: JSON by key. */
import { z } from 'zod'
import { toolIds } from '../tools.ts'
import type { SettingField } from '../config/fields.ts'
import { count, cursor } from './common.ts'
import { command, feed, query } from './contract.ts'

const key = z.string().regex(/^[a-z][A-Za-z0-9.-]{0,99}$/)
/** Any JSON; messages can carry nothing else. */
const value = z.unknown()

export const settingsApi = {
  all: query(z.void(), z.record(z.string(), value)),
  get: query(z.object({ key }), value),
  /** Null removes it. */
  set: command(z.object({ key, value }), z.void()),
  /**
   * Each algorithm with its settings, then custom losses by the file of their newest version; settings of a run are in
   * #shared/config/fields.ts.
   */
  algorithms: query(
    z.void(),
    z.array(
      z.object({
        id: z.string(),
        title: z.string(),
        description: z.string(),
        /** Kind of experience: rewards of its own completions, given answers, or pairs of them. */
        experience: z.enum(['rollout', 'demonstrations', 'preferences', 'marks']),
        groupSize: z.object({ default: count, minimum: count }),
        /** Completions are learned from by their rewards, with its default settings. */
        needsRewards: z.boolean(),
        settings: z.array(z.custom<SettingField>((field) => typeof field === 'object')).readonly(),
      }),
    ),
  ),
  /** Names of a run's settings in other tools, by dotted name. */
  toolNames: query(
    z.void(),
    z.record(z.string(), z.array(z.object({ tool: z.enum(toolIds), name: z.string() }))),
  ),
  watch: feed(z.void(), z.object({ cursor, changed: z.record(z.string(), value) })),
}

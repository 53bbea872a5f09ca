/** Environments whose settings a row may change for its own episodes, as `environment.settingsFromRow` of a run says. */
import { invalidConfig } from '#shared/errors.ts'
import type { Environment, EnvironmentAnswer, EpisodeStart } from '../rollout/environment.ts'
import type { DataRow } from '../rollout/prompts.ts'

type Settings = Readonly<Record<string, string | number | boolean>>

export interface RowSettings {
  /** Settings of the environment, with its defaults. */
  readonly known: Settings
  readonly settings: Settings
  /** Setting → column of the row. */
  readonly fromRow: Readonly<Record<string, string>>
  /** The environment with these settings. Errors: AppError 'config/invalid'. */
  readonly create: (settings: Settings) => Environment
}

/** The environment itself where rows change nothing. Errors: AppError 'config/invalid' for a setting that it does not have. */
export function withRowSettings(options: RowSettings): Environment {
  const { known, settings, fromRow, create } = options
  const names = Object.keys(fromRow)
  const base = create(settings)
  if (names.length === 0) return base
  const unknown = names.find((name) => !Object.hasOwn(known, name))
  if (unknown !== undefined) {
    throw invalidConfig(
      `environment.settingsFromRow: the environment has no setting “${unknown}”.`,
      `Its settings: ${Object.keys(known).join(', ') || 'none'}.`,
    )
  }
  const worlds = new Map<string, Environment>()
  const worldOf = (row: DataRow): Environment => {
    const changed = { ...settings, ...settingsIn(row, options) }
    const key = JSON.stringify(changed)
    const world = worlds.get(key) ?? create(changed)
    worlds.set(key, world)
    return world
  }
  return {
    id: base.id,
    description: base.description,
    maxTurns: base.maxTurns,
    turnsOf: (row) => worldOf(row).maxTurns,
    reset: (starts) => inWorlds(starts, worldOf, (world, own) => world.reset(own)),
    step: (actions) => inWorlds(actions, worldOf, (world, own) => world.step(own)),
  }
}

/** Calls the world of each row, once for all rows of one world. Answers are in order. */
async function inWorlds<Asked extends EpisodeStart>(
  all: readonly Asked[],
  worldOf: (row: DataRow) => Environment,
  ask: (world: Environment, own: readonly Asked[]) => Promise<readonly EnvironmentAnswer[]>,
): Promise<readonly EnvironmentAnswer[]> {
  const answers = new Array<EnvironmentAnswer>(all.length)
  const places = Map.groupBy(all.keys(), (i) => worldOf(all[i]!.row))
  await Promise.all(
    [...places].map(async ([world, own]) => {
      const given = await ask(
        world,
        own.map((i) => all[i]!),
      )
      own.forEach((i, k) => (answers[i] = given[k]!))
    }),
  )
  return answers
}

/** The settings that the row brings, each of its default's type; numbers and yes or no may be text, as in tables. */
function settingsIn(row: DataRow, { known, fromRow }: RowSettings): Settings {
  const entries = Object.entries(fromRow).map(([name, column]) => {
    const value = asTypeOf(known[name], row[column])
    if (value !== null) return [name, value] as const
    const got =
      row[column] === undefined ? 'is not there' : `holds ${JSON.stringify(row[column]).slice(0, 100)}`
    throw invalidConfig(
      `environment.settingsFromRow: “${name}” needs a ${typeof known[name]}, but column “${column}” ${got}.`,
    )
  })
  return Object.fromEntries(entries)
}

function asTypeOf(known: Settings[string] | undefined, value: unknown): string | number | boolean | null {
  if (typeof value === typeof known) return value as string | number | boolean
  if (typeof value !== 'string' || value.trim() === '') return null
  if (typeof known === 'number') return Number.isFinite(Number(value)) ? Number(value) : null
  return typeof known === 'boolean' && ['true', 'false'].includes(value) ? value === 'true' : null
}

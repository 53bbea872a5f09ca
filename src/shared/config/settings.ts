/**
 * Settings of algorithms, rewards and environments: each is a zod schema with its default, its limits and, as `.meta`,
 * the description for forms and the help. `fields.ts` reads them.
 */
import { z } from 'zod'
import { ConfigError } from '../errors.ts'
import { schemaProblems } from './problems.ts'

/** Schemas that many settings of a run share. */
export const wholeNumber = (minimum: number, maximum: number) => z.int().min(minimum).max(maximum)
export const share = z.number().min(0).max(1)
export const path = z.string().min(1)

/** Largest value that could still be intended; rl/training/configWarnings.ts warns about unwise ones within the limit. */
export const maxStepCount = 10_000_000
export const maxTokenCount = 10_000_000
export const maxRows = 1_000_000_000
/** Upper limit of k in top-k log-probabilities. */
export const maxLikeliest = 1024
/** Default bound on the magnitude of any other number. */
export const maxSetting = 1_000_000

declare module 'zod' {
  interface GlobalMeta {
    /** Label in a form; by default derived from the key. */
    label?: string
    /** Short meaning of null, shown by an empty control. */
    empty?: string
    /** Words for options whose names are not self-explanatory. */
    options?: Readonly<Record<string, string>>
  }
}

export type SettingsTable = Readonly<Record<string, z.ZodType>>

export type SettingsOf<Table extends SettingsTable> = {
  readonly [Name in keyof Table]: z.output<Table[Name]>
}

interface NumberOptions {
  readonly description: string
  readonly minimum?: number
  /** Requires a value above 0, in place of a minimum. */
  readonly isPositive?: boolean
  readonly maximum?: number
  readonly integer?: boolean
}

function numberWithin({
  minimum = -maxSetting,
  isPositive = false,
  maximum = maxSetting,
  integer,
}: Omit<NumberOptions, 'description'>) {
  const number = integer === true ? z.int() : z.number()
  return (isPositive ? number.gt(0) : number.min(minimum)).max(maximum)
}

export const numberSetting = ({
  default: initial,
  description,
  ...limits
}: NumberOptions & { readonly default: number }) =>
  numberWithin(limits).default(initial).meta({ description })

/** Number, or null. */
export const optionalNumberSetting = ({
  default: initial,
  description,
  empty = 'off',
  ...limits
}: NumberOptions & { readonly default: number | null; readonly empty?: string }) =>
  numberWithin(limits).nullable().default(initial).meta({ description, empty })

export const flagSetting = (initial: boolean, description: string) =>
  z.boolean().default(initial).meta({ description })

export const textSetting = (initial: string, description: string) =>
  z.string().max(1_000).default(initial).meta({ description })

export const choiceSetting = <const Option extends string>(
  options: readonly [Option, ...Option[]] | readonly Option[],
  initial: NoInfer<Option>,
  description: string,
) =>
  z
    .enum(options as readonly [Option, ...Option[]])
    .default(initial as never)
    .meta({ description }) as unknown as z.ZodDefault<z.ZodType<Option>>

const bound = numberWithin({ minimum: 0 })

/** Non-negative number, or the pair [low, high]. */
export const numberOrPairSetting = ({
  default: initial,
  description,
}: {
  readonly default: number | readonly [number, number]
  readonly description: string
}) =>
  z
    .union([
      bound,
      z.tuple([bound, bound]).refine(([low, high]) => low <= high, 'a pair [low, high] with low ≤ high'),
    ])
    .default(typeof initial === 'number' ? initial : [initial[0], initial[1]])
    .meta({ description })

export const takesPair = (setting: z.ZodType | undefined): boolean =>
  setting instanceof z.ZodDefault && setting.unwrap() instanceof z.ZodUnion

/** Fills in the defaults. `path`: position of the settings in the config. Errors: ConfigError. */
export function parseSettings<Table extends SettingsTable>(
  table: Table,
  given: Readonly<Record<string, unknown>>,
  path: string,
): SettingsOf<Table> {
  const result = z.strictObject(table).safeParse(given, { reportInput: true })
  if (!result.success)
    throw new ConfigError(
      schemaProblems(result.error.issues, path),
      result.error.issues.some(({ code }) => code === 'unrecognized_keys')
        ? `Its settings: ${Object.keys(table).join(', ')}.`
        : undefined,
    )
  // Made from this very table.
  return result.data as SettingsOf<Table>
}

export const defaultNewTokens = 256

/** Returns at most a quarter of the model’s context, since the prompt needs room as well. */
export const fittingNewTokens = (contextLength: number, wanted: number = defaultNewTokens): number =>
  Math.max(1, Math.min(wanted, Math.floor(contextLength / 4)))

/**
 * Collects the Python of a trainer, which a person allows on this machine like any other: how it is started, with the
 * content of the settings behind that, and each of Turnwise's own files that run there.
 */
import { z } from 'zod'
import { keyUse } from '#shared/config/keyUses.ts'
import { parsedJson } from '#shared/parsedJson.ts'
import { readSmallFile } from '#host/files/strictJson.ts'
import { projectResource } from '#host/exchange/project/projectRewards.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { requireKeys } from '#host/consents/keys.ts'
import {
  type AllowedInterpreter,
  type PythonReview,
  type PythonSource,
  requireConsent,
  reviewPython,
} from '#host/python/consent.ts'
import {
  engineInterpreter,
  engines,
  rayAddress,
  type EngineConfig,
  type EnginedConfig,
  type OtherEngine,
} from './launch.ts'

/** Ways to start a trainer that are not Turnwise's own; each needs consent. */
const startSchema = z.union([
  z.strictObject({ accelerateConfig: z.string() }),
  z.strictObject({ address: z.string(), runtimeEnv: z.string().optional() }),
  z.strictObject({ command: z.string() }),
])
type Start = z.output<typeof startSchema>

interface EngineSource extends PythonSource {
  readonly parts: Readonly<Record<string, string>>
  /** Content of the file of settings that the trainer is started with; null: there is no such file. */
  readonly settings: string | null
}

/** Code that is asked about; null where Turnwise trains. Errors: AppError 'file/unreadable' for a file of settings. */
export function engineSource({ kind, ...engine }: EngineConfig): EngineSource | null {
  if (kind === 'local') return null
  const { launcher, command, accelerateConfig, runtimeEnv } = engine
  if (launcher === 'ray') {
    const file = runtimeEnv === null ? {} : { runtimeEnv }
    return sourceOf(kind, { address: rayAddress({ kind, ...engine }), ...file })
  }
  if (launcher === 'command') return sourceOf(kind, { command: command ?? '' })
  return sourceOf(kind, launcher === 'accelerate' && accelerateConfig !== null ? { accelerateConfig } : null)
}

/** The code that such an id stands for: `engine:trl`, with JSON behind it that says how it is started. null for any other. */
export function engineSourceById(id: string): EngineSource | null {
  const { kind, start } = /^engine:(?<kind>\w+)(?: (?<start>\{.+\}))?$/s.exec(id)?.groups ?? {}
  if (kind === undefined || !Object.hasOwn(engines, kind)) return null
  if (start === undefined) return sourceOf(kind as OtherEngine, null)
  const { data } = startSchema.safeParse(parsedJson(start))
  return data === undefined ? null : sourceOf(kind as OtherEngine, data)
}

/**
 * Builds the source to allow. Its parts have names that no file has, so that nothing allowed here is allowed as code of
 * the person's own.
 */
function sourceOf(kind: OtherEngine, start: Start | null): EngineSource {
  const { code, rayCode } = engines[kind]
  const names = start !== null && 'address' in start ? [...code, ...rayCode] : code
  const settings = start === null ? null : settingsOf(start)
  const file = start === null ? `engine:${kind}` : `engine:${kind} ${JSON.stringify(start)}`
  const parts = Object.fromEntries(names.map((name) => [`${ownPart}${name}`, projectResource(name)]))
  return { code: JSON.stringify([file, settings]), language: 'py', file, parts, settings }
}

const ownPart = 'turnwise:'

/** Errors: AppError 'file/unreadable', also for one that is too large to be one. */
function settingsOf(start: Start): string | null {
  const file =
    'accelerateConfig' in start ? start.accelerateConfig : 'address' in start ? start.runtimeEnv : undefined
  return file === undefined ? null : Buffer.from(readSmallFile(file, 1 << 20)).toString('utf8')
}

/** Lists the code of the trainer; empty where Turnwise trains. Errors: those of `reviewPython`. */
export function reviewEngine(config: EnginedConfig, dataDirectory: string): PythonReview[] {
  const source = engineSource(config.engine)
  return source === null ? [] : [reviewPython(source, engineInterpreter(config), consentsFile(dataDirectory))]
}

/** Checked contents of the files that a start needs, so that no file is read again afterwards. */
export interface AllowedEngine {
  readonly interpreter: AllowedInterpreter
  /** Texts of Turnwise's own files by their names in a project. */
  readonly code: Readonly<Record<string, string>>
  /** Content of the file of settings that the trainer is started with; null: there is no such file. */
  readonly settings: string | null
}

/**
 * Returns the allowed code; null where Turnwise trains. Errors: AppError 'python/not-allowed', 'key/not-allowed' and those of
 * `engineSource` and `reviewPython`.
 */
export function requireAllowedEngine(config: EnginedConfig, consents: string | null): AllowedEngine | null {
  const source = engineSource(config.engine)
  if (source === null) return null
  const { interpreter } = requireConsent(source, engineInterpreter(config), consents)
  requireRayKey(config.engine, consents)
  const code = Object.entries(source.parts).map(([name, text]) => [name.slice(ownPart.length), text])
  return {
    interpreter,
    code: Object.fromEntries(code) as Readonly<Record<string, string>>,
    settings: source.settings,
  }
}

/**
 * Ray's client sends a token to whatever cluster it is given where RAY_AUTH_MODE says so: that of RAY_AUTH_TOKEN, RAY_AUTH_TOKEN_PATH
 * or ~/.ray/auth_token. So it is asked about by the first name. Errors: AppError 'key/not-allowed'.
 */
function requireRayKey(engine: EngineConfig, consents: string | null): void {
  if (engine.launcher !== 'ray' || (process.env['RAY_AUTH_MODE'] ?? 'disabled').toLowerCase() === 'disabled')
    return
  const address = rayAddress(engine)
  requireKeys([keyUse(rayKey, address) ?? { variable: rayKey, origin: address }], consents)
}

const rayKey = 'RAY_AUTH_TOKEN'

/** The Python of a trainer, which a person allows on this machine as any other: by its content, and with it the command that starts it. */
import { readSmallFile } from '#host/files/strictJson.ts'
import { projectResource } from '#host/exchange/project/projectRewards.ts'
import { consentsFile } from '#host/consents/consents.ts'
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

/** Code that is asked about; null where Turnwise trains. */
export function engineSource({ kind, ...engine }: EngineConfig): PythonSource | null {
  if (kind === 'local') return null
  const { launcher, command, accelerateConfig, runtimeEnv } = engine
  // An address, and a file that says what runs there, are asked about like a command.
  if (launcher === 'ray') return sourceOf(kind, 'cluster', rayAddress({ kind, ...engine }), runtimeEnv)
  if (launcher === 'command') return sourceOf(kind, 'command', command, null)
  return sourceOf(kind, 'here', null, launcher === 'accelerate' ? accelerateConfig : null)
}

/** How a trainer is started: in its own words, at a cluster's address, or by a line for the shell. */
type Way = 'here' | 'cluster' | 'command'

/**
 * The code that such an id stands for: `engine:trl`, `engine:trl@ADDRESS` of a cluster, both with a file of settings behind
 * “with”, or `engine:trl COMMAND`. null for any other.
 */
export function engineSourceById(id: string): PythonSource | null {
  const { kind, address, file, command } =
    /^engine:(?<kind>\w+)(?:(?:@(?<address>\S+))?(?: with (?<file>\/.+|[A-Za-z]:.+))?| (?<command>.+))$/s.exec(
      id,
    )?.groups ?? {}
  if (kind === undefined || !Object.hasOwn(engines, kind)) return null
  const way = command !== undefined ? 'command' : address !== undefined ? 'cluster' : 'here'
  return sourceOf(kind as OtherEngine, way, command ?? address ?? null, file ?? null)
}

/** Puts together what is asked about. `file`: settings that decide what runs, whose content is asked about too. */
function sourceOf(kind: OtherEngine, way: Way, what: string | null, file: string | null): PythonSource {
  const { code: own, rayCode } = engines[kind]
  const files = way === 'cluster' ? [...own, ...rayCode] : own
  const settings = file === null ? [] : [contentOf(file)]
  const code = [...files.map(projectResource), ...settings, what ?? ''].join('\n')
  const where = what === null ? '' : way === 'cluster' ? `@${what}` : ` ${what}`
  return { code, language: 'py', file: `engine:${kind}${where}${file === null ? '' : ` with ${file}`}` }
}

/** Reads a file of settings; one that cannot be read counts as empty here and is reported where it is used. */
function contentOf(file: string): string {
  try {
    return Buffer.from(readSmallFile(file, 1 << 20)).toString('utf8')
  } catch {
    return ''
  }
}

/** Empty where Turnwise trains. Errors: those of `reviewPython`. */
export function reviewEngine(config: EnginedConfig, dataDirectory: string): PythonReview[] {
  const source = engineSource(config.engine)
  return source === null ? [] : [reviewPython(source, engineInterpreter(config), consentsFile(dataDirectory))]
}

/** null where Turnwise trains. Errors: AppError 'python/not-allowed' and those of `reviewPython`. */
export function requireAllowedEngine(
  config: EnginedConfig,
  consents: string | null,
): AllowedInterpreter | null {
  const source = engineSource(config.engine)
  return source && requireConsent(source, engineInterpreter(config), consents).interpreter
}

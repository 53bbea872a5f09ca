/** The Python of a trainer, which a person allows on this machine as any other: by its content, and with it the command that starts it. */
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

/** What is asked about; null where Turnwise trains. */
export function engineSource(engine: EngineConfig): PythonSource | null {
  const { kind, launcher, command } = engine
  if (kind === 'local') return null
  // Where the run is sent to is asked about as what a command does.
  if (launcher === 'ray') return sourceOf(kind, `${submission}${rayAddress(engine)}`)
  return sourceOf(kind, launcher === 'command' ? command : null)
}

const submission = 'ray job submit --address '

/** The code that such an id stands for: `engine:trl`, or with a command or a cluster behind it. null for any other. */
export function engineSourceById(id: string): PythonSource | null {
  const { kind, command } = /^engine:(?<kind>\w+)(?: (?<command>.+))?$/s.exec(id)?.groups ?? {}
  return kind !== undefined && Object.hasOwn(engines, kind)
    ? sourceOf(kind as OtherEngine, command ?? null)
    : null
}

function sourceOf(kind: OtherEngine, command: string | null): PythonSource {
  const { code: own, rayCode } = engines[kind]
  const files = command?.startsWith(submission) === true ? [...own, ...rayCode] : own
  const code = [...files.map(projectResource), command ?? ''].join('\n')
  return { code, language: 'py', file: `engine:${kind}${command === null ? '' : ` ${command}`}` }
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

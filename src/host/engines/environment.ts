/** Whether an interpreter has what a trainer needs. */
import { z } from 'zod'
import { AppError } from '#shared/errors.ts'
import { toolTitles } from '#shared/tools.ts'
import { projectResource } from '#host/exchange/project/projectRewards.ts'
import type { AllowedInterpreter } from '#host/python/consent.ts'
import { askProgram } from '#host/python/program.ts'
import { requireAllowedEngine } from './engineCode.ts'
import { engines, type EnginedConfig, type OtherEngine } from './launch.ts'

export interface EnginePackage {
  readonly name: string
  /** null: not installed. */
  readonly version: string | null
  /** The version that was tried; null: any. */
  readonly tried: string | null
}

export interface EngineEnvironment {
  readonly kind: OtherEngine
  readonly interpreter: string
  /** Such as 3.12.4. */
  readonly python: string
  readonly packages: readonly EnginePackage[]
  /** What torch computes on: GPUs it sees; 0: CPUs alone, and where torch is missing. */
  readonly gpus: number
  /** What installs the missing ones; null where there are all. */
  readonly install: string | null
}

/** One that may be started. */
export interface AllowedEnvironment extends EngineEnvironment {
  readonly interpreter: AllowedInterpreter
}

const answer = z.object({
  python: z.string(),
  versions: z.record(z.string(), z.string().nullable()),
  gpus: z.int().min(0),
})

/** Prints the versions of distributions as JSON. */
const question = (packages: readonly string[]): string =>
  `
import importlib.metadata, json, platform
def version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
versions = {name: version(name) for name in ${JSON.stringify(packages)}}
gpus = 0
if versions.get("torch"):
    import torch
    mps = torch.backends.mps.is_available()
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else int(mps)
print(json.dumps({"python": platform.python_version(), "versions": versions, "gpus": gpus}))
`

/** Errors: AppError 'sandbox/failed' for an interpreter that does not run. */
async function readEnvironment(
  kind: OtherEngine,
  interpreter: AllowedInterpreter,
): Promise<EngineEnvironment> {
  const { tool, packages: names } = engines[kind]
  const said = answer.parse(JSON.parse(await askProgram(interpreter, question(names))))
  const tried = triedVersions(projectResource(`${tool}/requirements.txt`))
  const packages = names.map((name) => ({
    name,
    version: said.versions[name] ?? null,
    tried: tried.get(name) ?? null,
  }))
  const missing = packages.filter(({ version }) => version === null)
  const words = missing.map(({ name, tried: own }) => (own === null ? name : `${name}==${own}`))
  const install = missing.length === 0 ? null : `${interpreter} -m pip install ${words.join(' ')}`
  return { kind, interpreter, python: said.python, packages, gpus: said.gpus, install }
}

/** That of a config whose code was allowed; null where Turnwise trains. Errors: as `requireAllowedEngine`, and 'sandbox/failed'. */
export async function allowedEnvironment(
  config: EnginedConfig,
  consents: string | null,
): Promise<AllowedEnvironment | null> {
  const { kind } = config.engine
  const interpreter = requireAllowedEngine(config, consents)
  if (interpreter === null || kind === 'local') return null
  return { ...(await readEnvironment(kind, interpreter)), interpreter }
}

/** The same, with all that the trainer needs. Errors: AppError 'engine/unsuitable' naming what is missing. */
export async function readyEnvironment(
  config: EnginedConfig,
  consents: string | null,
): Promise<AllowedEnvironment | null> {
  const environment = await allowedEnvironment(config, consents)
  if (environment !== null) requireWhole(environment)
  return environment
}

function requireWhole({ kind, interpreter, packages, install }: EngineEnvironment): void {
  if (install === null) return
  const missing = packages.filter(({ version }) => version === null).map(({ name }) => name)
  throw new AppError(
    'engine/unsuitable',
    `${interpreter} cannot train with ${toolTitles[engines[kind].tool]}: ${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} not installed.`,
    { text: 'Nothing was started. To install:', command: install },
  )
}

/** What may differ with these versions; null where they are those the project was written for. */
export function versionNotice({ kind, packages }: EngineEnvironment): string | null {
  const { tool } = engines[kind]
  const own = packages.find(({ name }) => name === tool)
  if (own === undefined || own.version === null || own.tried === null || own.version === own.tried)
    return null
  return `${toolTitles[tool]} is version ${own.version}; the settings are written for ${own.tried}, so defaults and names may differ.`
}

const triedVersions = (requirements: string): ReadonlyMap<string, string> =>
  new Map(
    requirements.split('\n').flatMap((line): [string, string][] => {
      const { name, version } = /^(?<name>[\w-]+)==(?<version>\S+)$/.exec(line)?.groups ?? {}
      return name === undefined || version === undefined ? [] : [[name, version]]
    }),
  )

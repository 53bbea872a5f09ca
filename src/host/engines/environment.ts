/** Checks if an interpreter has what a trainer needs. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { z } from 'zod'
import type { Api } from '#shared/api/api.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import { AppError } from '#shared/errors.ts'
import { toolTitles } from '#shared/tools.ts'
import { commandWord } from '#shared/shownText.ts'
import { projectResource } from '#host/exchange/project/projectRewards.ts'
import type { AllowedInterpreter } from '#host/python/consent.ts'
import { askProgram } from '#host/python/program.ts'
import { requireAccelerate } from './accelerate.ts'
import { type AllowedEngine, requireAllowedEngine } from './engineCode.ts'
import {
  type EngineConfig,
  type EnginedConfig,
  engines,
  type OtherEngine,
  rayAddress,
  rayWords,
} from './launch.ts'

export type EngineEnvironment = { readonly kind: OtherEngine } & Omit<
  NonNullable<OutputOf<Api, 'python.engine'>>,
  'notice'
>

/** Environment that may be started. */
export interface AllowedEnvironment extends EngineEnvironment {
  readonly interpreter: AllowedInterpreter
}

const answer = z.object({
  python: z.string(),
  versions: z.record(z.string(), z.string().nullable()),
  gpus: z.int().min(0),
})

/** Prints the versions of distributions as JSON, and the GPUs of this machine or of a whole cluster of Ray. */
const question = (packages: readonly string[], isCluster: boolean): string =>
  `
import importlib.metadata, json, platform
def version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
versions = {name: version(name) for name in ${JSON.stringify(packages)}}
gpus = 0
if ${isCluster ? 'versions["ray"]' : 'False'}:
    import ray
    ray.init(log_to_driver=False)
    gpus = int(ray.cluster_resources().get("GPU", 0))
elif versions.get("torch"):
    import torch
    mps = torch.backends.mps.is_available()
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else int(mps)
print(json.dumps({"python": platform.python_version(), "versions": versions, "gpus": gpus}))
`

/** Place where packages are looked up. */
interface Looked {
  readonly packages: readonly string[]
  readonly cluster: string | null
  /** Runs the question there. */
  readonly ask: (code: string) => Promise<string>
}

/**
 * Asks the interpreter for its environment. Errors: AppError 'sandbox/failed' for an interpreter that does not run;
 * those of `askCluster`.
 */
async function readEnvironment(
  { kind, ...engine }: EngineConfig & { readonly kind: OtherEngine },
  { interpreter, settings }: AllowedEngine,
): Promise<EngineEnvironment> {
  const { packages } = engines[kind]
  const here = (code: string) => askProgram(interpreter, code)
  if (engine.launcher !== 'ray') return look(kind, interpreter, { packages, cluster: null, ask: here })
  const own = await look(kind, interpreter, { packages: ['ray', 'pyyaml'], cluster: null, ask: here })
  if (own.install !== null) return own
  const words = (copy: string | null) => ['ask', ...rayWords({ kind, ...engine }, copy), '--code']
  return look(kind, interpreter, {
    packages: ['ray', ...packages],
    cluster: rayAddress({ kind, ...engine }),
    ask: (code) => withCopy(settings, (copy) => askCluster(interpreter, [...words(copy), code])),
  })
}

/** Runs a function that needs a path with a temporary file of this content. */
async function withCopy<Answer>(
  text: string | null,
  use: (copy: string | null) => Promise<Answer>,
): Promise<Answer> {
  if (text === null) return use(null)
  const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-settings-'))
  try {
    const copy = path.join(folder, 'settings.yaml')
    writeFileSync(copy, text)
    return await use(copy)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Errors: AppError 'engine/unsuitable' with what kept the cluster from answering. */
async function askCluster(interpreter: AllowedInterpreter, words: readonly string[]): Promise<string> {
  try {
    return await askProgram(interpreter, projectResource('trl/ray_submit.py'), words)
  } catch (error) {
    const [, reason] =
      /does not run: (?:turnwise: )?(.*)$/s.exec(error instanceof Error ? error.message : '') ?? []
    throw new AppError(
      'engine/unsuitable',
      `The Ray cluster cannot be used: ${reason ?? String(error)}`,
      'Nothing was started. Set `engine.address` to the address of its dashboard.',
      error,
    )
  }
}

async function look(
  kind: OtherEngine,
  interpreter: string,
  { packages: names, cluster, ask }: Looked,
): Promise<EngineEnvironment> {
  const said = answer.parse(JSON.parse(await ask(question(names, cluster !== null))))
  const tried = triedVersions(projectResource(`${engines[kind].tool}/requirements.txt`)).set('ray', triedRay)
  const packages = names.map((name) => ({
    name,
    version: said.versions[name] ?? null,
    tried: tried.get(name) ?? null,
  }))
  const missing = packages.filter(({ version }) => version === null)
  const words = missing.map(({ name, tried: own }) => installWord(name, own))
  const program = cluster === null ? interpreter : 'python'
  const install = missing.length === 0 ? null : `${commandWord(program)} -m pip install ${words.join(' ')}`
  return { kind, interpreter, cluster, python: said.python, packages, gpus: said.gpus, install }
}

const triedRay = '2.60.0'

/** The client of Ray's jobs is an extra of its package. */
const installWord = (name: string, tried: string | null): string =>
  name === 'ray' ? `"ray[default]==${tried}"` : tried === null ? name : `${name}==${tried}`

/**
 * Returns the environment of a config whose code was allowed; null where Turnwise trains. Errors: as
 * `requireAllowedEngine`, and 'sandbox/failed'.
 */
export async function allowedEnvironment(
  config: EnginedConfig,
  consents: string | null,
): Promise<AllowedEnvironment | null> {
  const { engine } = config
  const { kind } = engine
  const allowed = requireAllowedEngine(config, consents)
  if (allowed === null || kind === 'local') return null
  return { ...(await readEnvironment({ ...engine, kind }, allowed)), interpreter: allowed.interpreter }
}

/**
 * Returns the environment after checking that it has everything the trainer needs. Errors: AppError 'engine/unsuitable'
 * naming what is missing; those of `requireAccelerate`.
 */
export async function readyEnvironment(
  config: EnginedConfig,
  consents: string | null,
): Promise<AllowedEnvironment | null> {
  const environment = await allowedEnvironment(config, consents)
  if (environment === null) return null
  requireWhole(environment)
  const allowed = requireAllowedEngine(config, consents)
  if (allowed !== null) await requireAccelerate(config.engine, allowed)
  return environment
}

function requireWhole({ kind, interpreter, cluster, packages, install }: EngineEnvironment): void {
  if (install === null) return
  const missing = packages.filter(({ version }) => version === null).map(({ name }) => name)
  throw new AppError(
    'engine/unsuitable',
    `${cluster === null ? interpreter : `Python on the cluster at ${cluster}`} cannot train with ${toolTitles[engines[kind].tool]}: ${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} not installed.`,
    { text: 'Nothing was started. To install:', command: install },
  )
}

/** Notice of what may differ with these versions; null where they are those the project was written for. */
export function versionNotice({ kind, packages }: EngineEnvironment): string | null {
  const { tool } = engines[kind]
  const own = packages.find(({ name }) => name === tool)
  if (own === undefined || own.version === null || own.tried === null || own.version === own.tried)
    return null
  return `${toolTitles[tool]} is version ${own.version}; the settings are written for ${own.tried}, so defaults and names may differ.`
}

const triedVersions = (requirements: string): Map<string, string> =>
  new Map(
    requirements.split('\n').flatMap((line): [string, string][] => {
      const { name, version } = /^(?<name>[\w-]+)==(?<version>[^\s;]+)/.exec(line)?.groups ?? {}
      return name === undefined || version === undefined ? [] : [[name, version]]
    }),
  )

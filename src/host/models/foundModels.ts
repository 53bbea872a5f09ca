/**
 * Models that other programs keep on this machine. They are used where they are: never copied unasked, never changed. Where they
 * are: huggingface_hub's cache (`models--owner--name/refs/main` names the commit, `snapshots/<commit>` holds links to its files),
 * LM Studio's folder (`publisher/name/file.gguf`), Ollama's store (`manifests/<host>/<namespace>/<name>/<tag>` is an image manifest, whose
 * layer of type `application/vnd.ollama.image.model` is a GGUF file among `blobs`).
 */
import { existsSync, readdirSync, statSync, type Dirent } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { z } from 'zod'
import type { ModelOrigin } from '#shared/api/models.ts'
import { attempt } from '#shared/attempt.ts'
import { readJsonObject, readSmallFile } from '#host/files/strictJson.ts'

export interface FoundModel {
  /** Name in its own program. */
  readonly name: string
  /** A folder, or a GGUF file. */
  readonly directory: string
  readonly origin: ModelOrigin
  /** Reason why it cannot be used as its program uses it, in a sentence; absent where it can. */
  readonly problem?: string
  /** Sentences on additions of its program that are left out here. */
  readonly notes?: readonly string[]
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Lists the models found, by program and name. Folders that cannot be read count as empty: they are no concern of ours.
 */
export function foundModels(environment: Environment = process.env, home = homedir()): FoundModel[] {
  if (environment['TURNWISE_FOUND_MODELS'] === '0') return []
  return [
    ...inHubCache(hubCache(environment, home)),
    ...lmStudioFolders(home).flatMap(inLmStudio),
    ...ollamaStores(environment, home).flatMap(inOllama),
  ]
}

/* Hugging Face */

function hubCache(environment: Environment, home: string): string {
  const own = environment['HF_HUB_CACHE'] ?? environment['HUGGINGFACE_HUB_CACHE']
  if (own) return own
  const cache = environment['XDG_CACHE_HOME'] || path.join(home, '.cache')
  return path.join(environment['HF_HOME'] || path.join(cache, 'huggingface'), 'hub')
}

/** The oldest models have no owner: `models--gpt2`. */
const repoFolder = /^models--(?:([\w.-]+?)--)?([\w.-]+)$/

/** Name of the model on the hub; null if the folder is not that of a model. */
function repoOf(folder: string): string | null {
  const [, owner, name] = repoFolder.exec(folder) ?? []
  return name === undefined ? null : owner === undefined ? name : `${owner}/${name}`
}

function inHubCache(cache: string): FoundModel[] {
  return entriesOf(cache).flatMap(({ name: folder }) => {
    const name = repoOf(folder)
    if (name === null) return []
    const found = snapshotsOf(path.join(cache, folder)).map((snapshot) =>
      inFolder(snapshot, { name, origin: 'huggingface' }),
    )
    // Tokenizers are cached alone too.
    return found.find(({ length }) => length > 0) ?? []
  })
}

/** Lists the snapshots: the one that `main` names first, then the newest ones. */
function snapshotsOf(repo: string): string[] {
  const snapshots = path.join(repo, 'snapshots')
  const byAge = entriesOf(snapshots)
    .map(({ name }) => path.join(snapshots, name))
    .toSorted((a, b) => timeOf(b) - timeOf(a))
  const commit = lineOf(path.join(repo, 'refs', 'main'))
  return commit === null ? byAge : [path.join(snapshots, path.basename(commit)), ...byAge]
}

/** The model of a folder, or one for each of its GGUF files. */
function inFolder(folder: string, { name, origin }: Omit<FoundModel, 'directory'>): FoundModel[] {
  if (isModelFolder(folder)) return [{ name, directory: folder, origin }]
  const files = entriesOf(folder).filter((entry) => isWeightFile(entry.name))
  return files.map((file) => ({
    name: `${name}/${file.name}`,
    directory: path.join(folder, file.name),
    origin,
  }))
}

function isModelFolder(folder: string): boolean {
  const names = entriesOf(folder).map(({ name }) => name)
  return names.includes('config.json') && names.some((name) => name.endsWith('.safetensors'))
}

/** Returns the hub id of a model in Hugging Face's cache; null: it is not in one. */
export function cachedHubId(directory: string): string | null {
  const [snapshots, repo] = [path.dirname(directory), path.dirname(path.dirname(directory))]
  return path.basename(snapshots) === 'snapshots' ? repoOf(path.basename(repo)) : null
}

/* LM Studio */

/**
 * Lists LM Studio's present and former model folders; the pointer and the settings exist where a person has moved them.
 */
function lmStudioFolders(home: string): string[] {
  const studio = lineOf(path.join(home, '.lmstudio-home-pointer')) ?? path.join(home, '.lmstudio')
  const known = [path.join(studio, 'models'), path.join(home, '.cache', 'lm-studio', 'models')]
  const chosen = documentIn(path.join(studio, 'settings.json'), z.object({ downloadsFolder: z.string() }))
  return [...new Set([...(chosen === null ? [] : [chosen.downloadsFolder]), ...known])]
}

const isWeightFile = (name: string): boolean =>
  // The eyes of models that see, and the later parts of split files, are no models.
  name.endsWith('.gguf') && !name.startsWith('mmproj-') && !/-(?!00001)\d{5}-of-\d{5}\.gguf$/.test(name)

const inLmStudio = (folder: string): FoundModel[] =>
  entriesOf(folder).flatMap(({ name: publisher }) =>
    entriesOf(path.join(folder, publisher)).flatMap(({ name }) =>
      inFolder(path.join(folder, publisher, name), { name: `${publisher}/${name}`, origin: 'lmstudio' }),
    ),
  )

/* Ollama */

/** A person's own, and that of the service that its installer sets up on Linux. */
const ollamaStores = (environment: Environment, home: string): string[] =>
  environment['OLLAMA_MODELS']
    ? [environment['OLLAMA_MODELS']]
    : [path.join(home, '.ollama', 'models'), '/usr/share/ollama/.ollama/models']

const manifestSchema = z.object({
  layers: z.array(z.object({ mediaType: z.string(), digest: z.string().regex(/^sha256:[0-9a-f]{64}$/) })),
})

function inOllama(store: string): FoundModel[] {
  const manifests = path.join(store, 'manifests')
  const found = below(manifests, 4).flatMap((parts) => {
    const { layers = [] } = documentIn(path.join(manifests, ...parts), manifestSchema) ?? {}
    const layerOf = (kind: string) =>
      layers.find(({ mediaType }) => mediaType === `application/vnd.ollama.image.${kind}`)
    const digest = layerOf('model')?.digest.replace(':', '-')
    if (digest === undefined) return []
    const directory = path.join(store, 'blobs', digest)
    const unused = ['system', 'template'].filter((kind) => layerOf(kind) !== undefined)
    const model = { name: ollamaName(parts), directory, origin: 'ollama' as const }
    return existsSync(directory) ? [{ model, unused, hasAdapter: layerOf('adapter') !== undefined }] : []
  })
  return found.map(({ model, unused, hasAdapter }) => {
    if (!hasAdapter) return { ...model, ...(unused.length === 0 ? {} : { notes: [unusedNote(unused)] }) }
    const base = found.find((other) => !other.hasAdapter && other.model.directory === model.directory)
    const named = base?.model.name ?? model.directory
    const problem = `“${model.name}” has an adapter of its own (ADAPTER in its Modelfile), which is not read here; its base is ${named}.`
    return { ...model, problem }
  })
}

const unusedNote = (kinds: readonly string[]): string =>
  `Not used of its Modelfile: ${kinds.map((kind) => kind.toUpperCase()).join(' and ')}; the chat template is the GGUF file’s own.`

/** Name as `ollama list` shows it: models of its own registry and library have name and tag alone. */
function ollamaName([host = '', namespace = '', name = '', tag = '']: readonly string[]): string {
  const place = [host, namespace].filter((part) => part !== 'registry.ollama.ai' && part !== 'library')
  return `${[...place, name].join('/')}:${tag}`
}

/** Paths of the files that many folders down, in parts. */
function below(folder: string, depth: number): string[][] {
  if (depth === 1)
    return entriesOf(folder)
      .filter((entry) => !entry.isDirectory())
      .map(({ name }) => [name])
  return entriesOf(folder).flatMap(({ name }) =>
    below(path.join(folder, name), depth - 1).map((rest) => [name, ...rest]),
  )
}

/* Reading what others keep */

/** Reads a document; null where it does not exist or is not as expected. */
const documentIn = <T>(file: string, schema: z.ZodType<T>): T | null =>
  attempt(() => schema.safeParse(readJsonObject(file, 'model/invalid')).data ?? null, null)

/** Reads a line; null where the file does not exist. */
const lineOf = (file: string): string | null =>
  attempt(() => new TextDecoder().decode(readSmallFile(file, 4096)).trim(), null)

const entriesOf = (folder: string): Dirent[] =>
  attempt(() => {
    const entries = readdirSync(folder, { withFileTypes: true })
    return entries.filter(({ name }) => !name.startsWith('.')).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  }, [])

const timeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0

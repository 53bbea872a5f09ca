/** Models on this machine. What only a running model can say is asked of a process of its own. */
import { plural } from '#shared/plural.ts'
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { attempt } from '#shared/attempt.ts'
import type { Api } from '#shared/api/api.ts'
import type { Handlers, OutputOf } from '#shared/api/contract.ts'
import type { modelsApi } from '#shared/api/models.ts'
import { precisionJob } from '#host/jobs/precisionJob.ts'
import { completionJob } from '#host/models/completionJobs.ts'
import { AppError, invalidModel, refusal } from '#shared/errors.ts'
import { removeFolder } from '#host/files/atomic.ts'
import { hubIdOf } from '#host/models/modelLibrary.ts'
import { ggufOwnName } from '#host/gguf/ggufModel.ts'
import { licenseOf } from '#host/hub/license.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import {
  findModel,
  importedName,
  importModel,
  listModels,
  modelPlaces,
  summarizeModel,
} from '#host/models/modelLibrary.ts'
import { noTextNote } from '#host/models/tokenizerFolder.ts'
import { dataFolders, resourcesDirectory } from '#host/dataDirectory.ts'
import type { Host } from '#host/host.ts'
import { modelDigest } from '#host/runs/manifest.ts'
import { greedyAtZero, resolveCandidate } from '#host/jobs/candidates.ts'
import { adapters, discardSource, folderOf } from '#host/models/adapters.ts'
import { changesOf, stampOf } from '#host/store/feeds.ts'
import { fetchFromHub } from '#host/hub/hubFetching.ts'

const watchEveryMs = 3000

export const modelsService = (host: Host): Handlers<typeof modelsApi> => {
  const { dataDirectory, notifier } = host
  const find = (model: string) => findModel(model, dataDirectory)
  return {
    list: () => listModels(dataDirectory),
    info: ({ model }) => describeModel(host, find(model)),

    digest: async ({ model }, { signal }) => ({
      sha256: await modelDigest(openModelFolder(find(model)), dataFolders(dataDirectory).cache, signal),
    }),

    async inspect(source) {
      try {
        return await describeModel(host, await folderOf(host, source))
      } catch (error) {
        if (error instanceof AppError) return { problem: error.message }
        throw error
      }
    },

    fetch: (wanted, { signal }) => fetchFromHub(host, wanted, signal),

    import: (source) => importing(host, source),
    ...adapters(host),

    delete({ name }) {
      removeModel(host, name)
      notifier.notify()
    },

    precision: ({ model, precisions }, { signal }) =>
      host.ask(
        precisionJob,
        { directory: find(model), precisions, cacheDirectory: dataFolders(dataDirectory).cache },
        signal,
      ),

    ...texts(host, find),
    generate: (request, { signal }) => generate(host, request, signal),
    watch: (_input, { from, signal }) =>
      changesOf({ notifier, signal, everyMs: watchEveryMs }, from, () =>
        stampOf([modelPlaces(dataDirectory), namesIn(dataFolders(dataDirectory).adapters)]),
      ),
  }
}

/** Procedures that run a model's tokenizer and chat template on texts. */
const texts = ({ askText }: Host, find: (model: string) => string) =>
  ({
    tokenize: ({ model, text }) => askText({ type: 'tokenize', directory: find(model), text }),

    async renderChat({ model, messages }) {
      return { text: await askText({ type: 'render-chat', directory: find(model), messages }) }
    },
  }) satisfies Partial<Handlers<typeof modelsApi>>

type ImportSource = Parameters<Handlers<typeof modelsApi>['import']>[0]

async function* importing(host: Host, source: ImportSource): AsyncGenerator<OutputOf<Api, 'models.import'>> {
  const folder = await folderOf(host, source)
  const name = source.name ?? importedName(folder)
  const { sizeBytes } = summarizeModel(name, openModelFolder(folder))
  yield { progress: { phase: 'Copying', done: 0, total: sizeBytes, unit: 'bytes' } }
  const result = await importModel(folder, name, host.dataDirectory, source.hubId ?? null)
  await discardSource(host, source)
  host.notifier.notify()
  yield { result }
}

async function* generate(
  host: Host,
  request: Parameters<Handlers<typeof modelsApi>['generate']>[0],
  signal: AbortSignal,
): AsyncGenerator<OutputOf<Api, 'models.generate'>> {
  const { candidates, prompt, samples, sampling, device } = request
  const { seed, temperature, ...filters } = sampling
  yield* host.ask(
    completionJob,
    {
      candidates: candidates.map((candidate) => resolveCandidate(host, candidate)),
      prompt,
      samples,
      seed,
      sampling: { ...filters, ...greedyAtZero(temperature), minNewTokens: 0 },
      device: device ?? null,
      cacheDirectory: dataFolders(host.dataDirectory).cache,
    },
    signal,
  )
}

async function describeModel({ askText }: Host, directory: string): Promise<OutputOf<Api, 'models.info'>> {
  const model = openModelFolder(directory)
  const { config, tensors, tokenizerFile } = model
  const { hasChatTemplate, notes } =
    tokenizerFile === null
      ? { hasChatTemplate: false, notes: [noTextNote(model.directory)] }
      : await askText({ type: 'describe', directory: model.directory })
  return {
    ...summarizeModel(path.basename(directory), model),
    layers: config.layers,
    hiddenSize: config.hiddenSize,
    vocabulary: config.vocabSize,
    dtypes: [...new Set([...tensors.values()].map(({ dtype }) => dtype))],
    hasChatTemplate,
    notes: [...model.notes, ...notes],
    license: attempt(() => licenseOf(model.directory), null),
    hubId: hubIdOf(model.directory),
    ownName: ggufOwnName(model.directory),
    isBuiltIn: path.dirname(directory) === resourcesDirectory,
  }
}

/**
 * Deletes a model. Errors: AppError 'model/invalid' where there is none to delete, 'api/refused' while a run needs it.
 */
function removeModel({ store, dataDirectory }: Host, name: string): void {
  const { models } = dataFolders(dataDirectory)
  if (!namesIn(models).includes(name)) throw invalidModel(`There is no imported model “${name}”.`)
  const directory = path.join(models, name)
  const needing = store.runs.list().filter((run) => run.model === directory && run.status !== 'finished')
  if (needing[0] !== undefined) {
    throw refusal(
      `${plural(needing.length, 'run that is not finished needs', 'runs that are not finished need')} “${name}”, the newest is ${needing[0].id}.`,
      'Delete those runs first.',
    )
  }
  removeFolder(directory)
}

const namesIn = (folder: string): string[] =>
  existsSync(folder) ? readdirSync(folder).filter((name) => !name.startsWith('.')) : []

/** Data sets: importing, viewing and preparing them for runs. */
import path from 'node:path'
import type { z } from 'zod'
import type { Api } from '#shared/api/api.ts'
import type { Handlers, OutputOf } from '#shared/api/contract.ts'
import type { datasetsApi } from '#shared/api/datasets.ts'
import { answerTemperature } from '#shared/api/teaching.ts'
import { invalidData } from '#shared/errors.ts'
import type { progress } from '#shared/api/common.ts'
import { readFetched } from '#host/hub/fetchData.ts'
import { resolveCandidate } from '#host/jobs/candidates.ts'
import { findModel } from '#host/models/modelLibrary.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import type { Host } from '#host/host.ts'
import { discardUpload, findUpload, findUploadFolder } from '#host/transports/uploads.ts'
import { changesOf, stampOf } from '#host/store/feeds.ts'
import { fetchDataFromHub, listOnHub } from '#host/hub/hubFetching.ts'
import type { DataRow } from '#host/data/dataFile.ts'
import { type DataFiles, inspectDataFile } from '#host/data/dataFiles.ts'
import type { DataSetVersion } from '#host/data/dataSetVersion.ts'
import { importDataSet } from '#host/data/importDataSet.ts'
import { mappingSchema, type Mapping } from '#host/data/mapping.ts'
import {
  findOverlap,
  wholeRow,
  type Matches,
  type Overlap,
  splitRows,
  type RowPlaces,
} from '#host/data/split.ts'
import { LengthCounter, previewPrompts } from '#host/data/preview.ts'
import { readDataSet } from '#host/data/readDataSet.ts'
import { type DetectedShape, detectShape } from '#host/data/shapes.ts'
import { judgedBy, type TellingRows, tellingRowsOf } from '#host/data/tellingRows.ts'
import {
  addVersion,
  adoptDataSets,
  describeDataSet,
  describeVersion,
  findDataSet,
  findVersion,
  openVersion,
  plainColumn,
  removeDataSet,
  parsePromptForm,
} from '#host/data/dataSetVersions.ts'
import { teach, type Teaching } from '#host/jobs/taught.ts'
import {
  keepMeasured,
  knownDifficulties,
  measureDifficulty,
  requireDifficulty,
} from '#host/jobs/difficulty.ts'

/** Most rows of a version whose columns are judged for its page. */
const judgedRows = 20_000
const watchEveryMs = 3000

export const datasetsService = (host: Host): Handlers<typeof datasetsApi> => ({
  ...library(host),
  ...taking(host),
  ...prompts(host),
  ...sides(host),
  ...difficulties(host),
  answer: (request, { signal }) => answering(host, request, signal),
})

const library = (host: Host) => {
  const { store, notifier } = host
  const list = () => {
    adoptDataSets(host)
    return store.dataSets.list().map((dataSet) => describeDataSet(store, dataSet))
  }
  return {
    list,
    get: ({ dataSetId }) => describeDataSet(store, findDataSet(host, dataSetId)),

    async version({ versionId }) {
      const opened = openVersion(host, versionId)
      const version = describeVersion(findVersion(host, versionId))
      const telling = await tellingRowsOf(opened, judgedRows)
      const shape = detectShape(telling)
      return { version, shape: withLimit(shape, telling, opened), problems: opened.info.problems.listed }
    },

    rows({ versionId, from, count }) {
      const version = openVersion(host, versionId)
      return { total: version.info.rows, rows: version.rows(from, count) }
    },

    rename({ dataSetId, name }) {
      findDataSet(host, dataSetId)
      store.dataSets.rename(dataSetId, name)
      notifier.notify()
    },

    delete({ dataSetId }) {
      removeDataSet(host, dataSetId)
      notifier.notify()
    },

    watch: (_input, { from, signal }) =>
      changesOf({ notifier, signal, everyMs: watchEveryMs }, from, () => stampOf(list())),
  } satisfies Partial<Handlers<typeof datasetsApi>>
}

/** Says where only a part of the rows was looked at. */
const withLimit = (shape: DetectedShape, { count }: TellingRows, { info }: DataSetVersion): DetectedShape =>
  count >= info.rows ? shape : { ...shape, doubts: [...shape.doubts, judgedBy(count)] }

const taking = (host: Host) =>
  ({
    listOnHub: ({ address }, { signal }) => listOnHub(host, address, signal),
    fetch: (request, { signal }) => fetchDataFromHub(host, request, signal),

    async inspect({ source, mapping, count, split }) {
      const { files } = await filesOf(host, source)
      const found = await inspectDataFile(files, { count, mapping: parseMapping(mapping), split })
      return { ...found, columns: found.columns.map(plainColumn) }
    },

    import: (request, { signal }) => importing(host, request, signal),
  }) satisfies Partial<Handlers<typeof datasetsApi>>

type ImportRequest = Parameters<Handlers<typeof datasetsApi>['import']>[0]

async function* importing(
  host: Host,
  { source, name, dataSetId, mapping, split }: ImportRequest,
  signal: AbortSignal,
): AsyncGenerator<OutputOf<Api, 'datasets.import'>> {
  const { store, notifier, dataDirectory } = host
  const { files, origin } = await filesOf(host, source)
  const given = dataSetId === undefined ? null : findDataSet(host, dataSetId)
  const called = given?.name ?? name
  const { version, isNew } = yield* progressOf((onProgress) =>
    importDataSet(files, {
      folder: dataFolders(dataDirectory).datasets,
      ...(called === undefined ? {} : { name: called }),
      ...(origin === null ? {} : { origin }),
      ...(split === undefined ? {} : { split }),
      mapping: parseMapping(mapping),
      signal,
      onProgress: (done, total) => onProgress({ phase: 'Reading', done, total, unit: 'bytes' }),
    }),
  )
  const known = store.dataSets.findVersion(version.info.id)
  const dataSet =
    given ?? (known === null ? store.dataSets.create(version.info.name) : findDataSet(host, known.dataSetId))
  addVersion(store, dataSet, version)
  if ('uploadId' in source) await discardUpload(dataFolders(dataDirectory).uploads, source.uploadId)
  notifier.notify()
  const record = store.dataSets.versions(dataSet.id).find(({ id }) => id === version.info.id)
  if (record === undefined) throw new Error(`Expected version ${version.info.id} of ${dataSet.id}.`)
  const result = { dataSet: describeDataSet(store, dataSet), version: describeVersion(record), isNew }
  yield { result: { ...result, problems: version.info.problems.listed } }
}

const prompts = (host: Host) =>
  ({
    preview({ versionId, prompt, model, from, count, ...template }) {
      const rows = openVersion(host, versionId).rows(from, count)
      const form = parsePromptForm(prompt)
      if (model === undefined) return previewPrompts(rows, form, null, from)
      const directory = findModel(model, host.dataDirectory)
      return host.askText({ type: 'preview', directory, rows, from, form, template })
    },

    async *histogram({ versionId, prompt, model, ...template }, { signal }) {
      const version = openVersion(host, versionId)
      const asked = {
        type: 'lengths' as const,
        directory: findModel(model, host.dataDirectory),
        form: parsePromptForm(prompt),
        template,
      }
      const counter = new LengthCounter()
      const state = (done: number) => ({
        progress: { phase: 'Measuring', done, total: version.info.rows, unit: 'rows' as const },
        histogram: counter.histogram(),
      })
      let done = 0
      for await (const rows of smallBatches(version, signal)) {
        for (const length of await host.askText({ ...asked, rows, from: done })) counter.add(length)
        done += rows.length
        yield state(done)
      }
    },
  }) satisfies Partial<Handlers<typeof datasetsApi>>

const rowsAtOnce = 256

/** Yields batches small enough that other questions about the model are answered in between. */
async function* smallBatches(
  version: DataSetVersion,
  signal: AbortSignal,
): AsyncGenerator<readonly DataRow[]> {
  for await (const rows of version.batches({ signal })) {
    for (let from = 0; from < rows.length; from += rowsAtOnce) yield rows.slice(from, from + rowsAtOnce)
  }
}

const sides = (host: Host) =>
  ({
    async split({ versionId, split }) {
      const { train, heldOut } = splitRows(await rowsOf(host, versionId), split)
      return { train: train.length, heldOut: heldOut.length }
    },

    async leaks({ versionId, heldOut, columns }) {
      const rows = await rowsOf(host, versionId)
      const textOf = (row: DataRow) => wholeRow(columns.length === 0 ? row : pick(row, columns))
      if ('versionId' in heldOut) return findOverlap(rows, await rowsOf(host, heldOut.versionId), textOf)
      const sides = splitRows(rows, heldOut)
      return placedOverlap(await findOverlap(sides.train, sides.heldOut, textOf), sides.places)
    },
  }) satisfies Partial<Handlers<typeof datasetsApi>>

const difficulties = (host: Host) =>
  ({
    difficulty: (request, { signal }) => measureDifficulty(host, request, signal),
    difficulties: ({ versionId }) => knownDifficulties(findVersion(host, versionId).directory),

    difficultyRows: ({ versionId, id }) => requireDifficulty(findVersion(host, versionId).directory, id),

    async keepMeasured(request) {
      const { store, notifier } = host
      const { dataSetId } = findVersion(host, request.versionId)
      const { version } = await keepMeasured(host, openVersion(host, request.versionId), request)
      addVersion(store, findDataSet(host, dataSetId), version)
      notifier.notify()
      return { versionId: version.info.id }
    },
  }) satisfies Partial<Handlers<typeof datasetsApi>>

type TeachingRequest = Parameters<Handlers<typeof datasetsApi>['answer']>[0]

async function* answering(
  host: Host,
  request: TeachingRequest,
  signal: AbortSignal,
): AsyncGenerator<OutputOf<Api, 'datasets.answer'>> {
  const { store, notifier } = host
  const version = openVersion(host, request.versionId)
  const { samplesPerRow: samples, prompt, rewards, interpreter, minReward, seed, name } = request
  const rows = version.rows(0, request.rows ?? version.info.rows)
  const teaching: Teaching = {
    source: version.directory,
    rows,
    prompt,
    samples,
    seed,
    rewards,
    minReward,
    name,
    ...(interpreter === undefined ? {} : { interpreter }),
    teacher: teacherOf(host, request),
    base: host.dataDirectory,
    origin: `${version.info.name}, answered by ${teacherName(request.teacher)}`,
  }
  for await (const news of teach(host, teaching, signal)) {
    if ('done' in news) {
      const { done, answers, problems } = news
      const progress = { phase: 'Answering', done, total: rows.length, unit: 'rows' as const }
      yield { progress, answers: [...answers], problems: [...problems] }
      continue
    }
    const { added, problems, ...counts } = news.result
    const known = store.dataSets.findVersion(added.version.info.id)
    const dataSet = known === null ? store.dataSets.create(name) : findDataSet(host, known.dataSetId)
    addVersion(store, dataSet, added.version)
    notifier.notify()
    const ids = { dataSetId: dataSet.id, versionId: added.version.info.id }
    yield { result: { ...ids, ...counts, problems: [...problems] } }
  }
}

/** Errors: AppError 'model/invalid', 'run/not-found'. */
function teacherOf(
  host: Host,
  { teacher, temperature, samplesPerRow, maxNewTokens }: TeachingRequest,
): Teaching['teacher'] {
  const sampling = { temperature: answerTemperature(temperature, samplesPerRow), maxNewTokens }
  if ('address' in teacher) {
    const { address, servedModel, keyVariable } = teacher
    return {
      address,
      ...(servedModel === undefined ? {} : { servedModel }),
      ...(keyVariable === undefined ? {} : { keyVariable }),
      ...sampling,
    }
  }
  const { directory, adapter } = resolveCandidate(host, teacher)
  return { model: directory, ...(adapter === null ? {} : { adapter }), ...sampling }
}

const teacherName = (teacher: TeachingRequest['teacher']): string =>
  'address' in teacher ? teacher.address : path.basename(teacher.model)

/** Rows of the parts by their places in the data set that was split. */
function placedOverlap(
  { trainDuplicates, heldOutDuplicates, leaks }: Overlap,
  { train, heldOut }: RowPlaces,
) {
  const placed = (
    { count, pairs }: Matches,
    first: readonly number[],
    second: readonly number[],
  ): Matches => ({
    count,
    pairs: pairs.map((pair) => ({
      ...pair,
      first: first[pair.first] ?? pair.first,
      second: second[pair.second] ?? pair.second,
    })),
  })
  return {
    trainDuplicates: placed(trainDuplicates, train, train),
    heldOutDuplicates: placed(heldOutDuplicates, heldOut, heldOut),
    leaks: placed(leaks, train, heldOut),
  }
}

/** Reads all rows as a run would. */
const rowsOf = (host: Host, versionId: string) => readDataSet(findVersion(host, versionId).directory)

const pick = (row: DataRow, columns: readonly string[]): DataRow =>
  Object.fromEntries(columns.flatMap((name) => (name in row ? [[name, row[name]]] : [])))

interface SourceFiles {
  readonly files: DataFiles
  /** null: their path says it. */
  readonly origin: string | null
}

/** Errors: AppError 'file/unreadable' where an upload is gone. */
async function filesOf({ dataDirectory }: Host, source: ImportRequest['source']): Promise<SourceFiles> {
  if ('path' in source) return { files: source.path, origin: null }
  const { uploads } = dataFolders(dataDirectory)
  const fetched = readFetched(findUploadFolder(uploads, source.uploadId))
  return fetched ?? { files: await findUpload(uploads, source.uploadId), origin: null }
}

/** Errors: AppError 'data/invalid'. */
function parseMapping(given: unknown): Mapping {
  const result = mappingSchema.safeParse(given ?? [])
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw invalidData(`The mapping cannot be read: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}.`)
}

type Progress = z.output<typeof progress>

/** Turns progress callbacks into items of a stream, keeping only the latest; returns what the work returns. */
async function* progressOf<Result>(
  work: (onProgress: (progress: Progress) => void) => Promise<Result>,
): AsyncGenerator<{ progress: Progress }, Result> {
  const state: { latest: Progress | null; isOver: boolean } = { latest: null, isOver: false }
  let wake = () => {}
  const working = work((progress) => {
    state.latest = progress
    wake()
  }).finally(() => {
    state.isOver = true
    wake()
  })
  // Awaited below; a failure in between must not count as unheard.
  working.catch(() => undefined)
  while (!state.isOver) {
    const { latest: progress } = state
    state.latest = null
    if (progress !== null) yield { progress }
    else await new Promise<void>((resolve) => (wake = resolve))
  }
  return working
}

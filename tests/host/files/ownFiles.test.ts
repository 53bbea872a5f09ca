/** Folders that came from elsewhere: nothing is written or copied through the links in them, and no pipe is waited for. */
import { execFileSync } from 'node:child_process'
import {
  closeSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { devNull } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { AppError } from '#shared/errors.ts'
import { runsService } from '#host/api/runsService.ts'
import { openCorpus } from '#host/code/corpus.ts'
import { readRewardCode, runRewardCode } from '#host/code/rewardCode.ts'
import { createHost } from '#host/createHost.ts'
import { openDataSetVersion } from '#host/data/dataSetVersion.ts'
import { importDataSet } from '#host/data/importDataSet.ts'
import { readDataSet, readRunData } from '#host/data/readDataSet.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { plannedConfig } from '#host/devices/devicePlan.ts'
import * as answers from '#host/evaluations/answers.ts'
import { download } from '#host/files/download.ts'
import { takeTurn } from '#host/files/turns.ts'
import { ggufFileOf } from '#host/gguf/ggufModel.ts'
import { readFetched, writeFetched } from '#host/hub/fetchData.ts'
import { licenseOf } from '#host/hub/license.ts'
import { entryOf, openOwnFile, ownDataDirectory } from '#host/files/ownFiles.ts'
import { JudgeLog, judgeLogName } from '#host/judges/judgeLog.ts'
import { rememberHubId } from '#host/models/hubIds.ts'
import { copyIfThere } from '#host/models/modelLibrary.ts'
import { readRunConfig } from '#host/runs/runConfigFile.ts'
import { countOutboundRequest } from '#host/outboundRequests.ts'
import { interpreterFiles } from '#host/python/interpreterFiles.ts'
import { loadScript } from '#host/training/scriptFile.ts'
import { findUpload, listUploads } from '#host/transports/uploads.ts'
import { openDatabase } from '#host/store/database.ts'
import { openStore } from '#host/store/store.ts'
import { openEventLog, readEvents } from '#host/workFolder/eventLog.ts'
import { findLeftovers } from '#host/workFolder/leftovers.ts'
import {
  copyFolder,
  createRunFolder,
  lockRun,
  openRunFolder,
  readOwnConfig,
  readScriptReference,
  runPaths,
} from '#host/workFolder/runFolder.ts'
import { logTrial, readStudyLog, repairStudyLog, studyDirectory } from '#host/workFolder/studyFolder.ts'
import { createHome, starterConfig } from '../runs/runFixture.ts'
import { temporaryFolder } from './temporaryFolder.ts'

const root = temporaryFolder()
const home = createHome()
afterAll(() => home[Symbol.dispose]())
const newFolder = () => mkdtempSync(path.join(root, 'folder-'))
const unwritable = expect.objectContaining({ code: 'file/unwritable' }) as Error
/** A log is read before it is written to. */
const refused = expect.objectContaining({
  code: expect.stringMatching(/^file\/un(?:read|writ)able$/) as string,
}) as Error
const unreadable = expect.objectContaining({ code: 'file/unreadable' }) as Error

const mine = 'alias ll="ls -l"\nand a last line without an end'
/** A file of the person's, and one that is too long for a log. */
const own = path.join(root, 'bashrc')
writeFileSync(own, mine)
const long = path.join(root, 'long')
writeFileSync(long, 'x'.repeat(2 << 20))
const pipe = path.join(root, 'pipe')
/** Windows has no such pipes, and links are for its administrators. */
const isPosix = process.platform !== 'win32'
if (isPosix) execFileSync('mkfifo', [pipe])

const drained = async (part: string) => {
  const from = async function* () {
    yield await Promise.resolve(Buffer.from('fetched'))
  }
  const refusal = () => new Error('refused') as never
  for await (const _ of download({
    part,
    sizeBytes: 999,
    from,
    accept: () => Promise.resolve(true),
    refusal,
  }));
}

const writers: readonly (readonly [string, (folder: string) => unknown])[] = [
  ['events.jsonl', (folder) => openEventLog(path.join(folder, 'events.jsonl')).append({ type: 'x' })],
  [judgeLogName, (folder) => new JudgeLog(folder)],
  ['answers.jsonl', (folder) => answers.addAnswer(folder, { row: 0, message: '$(touch x)' } as never)],
  ['answers.jsonl', (folder) => answers.repairAnswers(folder)],
  ['log.jsonl', (folder) => logTrial(folder, 0, 'run')],
  ['log.jsonl', (folder) => repairStudyLog(folder)],
  ['outbound-requests', (folder) => countOutboundRequest(folder, 'hub')],
  ['history.db', (folder) => openDatabase(path.join(folder, 'history.db'))],
  ['consents.turn', (folder) => takeTurn(path.join(folder, 'consents.turn'))],
  ['file.part', (folder) => drained(path.join(folder, 'file.part'))],
]

describe.runIf(isPosix)('a log with a link or a pipe in its place', () => {
  test.each(writers)('%s is not written (%#)', async (name, write) => {
    for (const target of [own, pipe]) {
      const folder = newFolder()
      symlinkSync(target, path.join(folder, name))
      await expect((async () => await write(folder))()).rejects.toEqual(refused)
    }
    const folder = newFolder()
    execFileSync('mkfifo', [path.join(folder, name)])
    await expect((async () => await write(folder))()).rejects.toEqual(refused)
    const dangling = newFolder()
    symlinkSync(path.join(root, 'nothing'), path.join(dangling, name))
    await Promise.allSettled([(async () => await write(dangling))()])
    expect(existsSync(path.join(root, 'nothing'))).toBe(false)
    expect(readFileSync(own, 'utf8')).toBe(mine)
  })

  test('what is to be kept nowhere is written to the null device', () => {
    expect(() => closeSync(openOwnFile(devNull))).not.toThrow()
  })

  test('what processes print is not written either', () => {
    const run = home.createRun(starterConfig)
    symlinkSync(long, runPaths(run.directory).workerLog)
    expect(() => home.supervise().start(run, { resumeFrom: null })).toThrow(unwritable)
    expect(readFileSync(long, 'utf8')).toHaveLength(2 << 20)
  })
})

describe.runIf(isPosix)('a folder of a run in which a link takes the place of a folder', () => {
  test('is not trained in, and no code is put there', () => {
    for (const name of ['checkpoints', 'rewards', 'origin'] as const) {
      const [run, elsewhere] = [newFolder(), newFolder()]
      symlinkSync(elsewhere, runPaths(run)[name])
      expect(() => lockRun(run)).toThrow(unwritable)
      expect(readdirSync(run)).toEqual([name])
    }
    const [run, elsewhere] = [newFolder(), newFolder()]
    const file = path.join(root, 'reward.js')
    writeFileSync(file, 'export default () => 1')
    symlinkSync(elsewhere, runPaths(run).rewards)
    const rewards = [{ function: file, weight: 1, settings: {} }]
    expect(() => runRewardCode({ rewards }, 0, run)).toThrow(unwritable)
    expect(readdirSync(elsewhere)).toEqual([])
  })

  test('tells nothing of a file elsewhere that a link in the place of its log, config or printed words leads to', async () => {
    const data = newFolder()
    const runs = ['events', 'config', 'workerLog'].map(() => createRunFolder(data, { model: 'm' }))
    await using host = createHost({ dataDirectory: data, servesQueue: false })
    const { log } = runsService(host)
    const context = { signal: new AbortController().signal, from: null }
    const elsewhere = path.join(newFolder(), 'settings.json')
    writeFileSync(elsewhere, '{"at":1,"type":"secret","model":"m"}\n')
    const [events, config] = (['events', 'config', 'workerLog'] as const).map((name, i) => {
      const file = runPaths(runs[i]!.directory)[name]
      rmSync(file, { force: true })
      symlinkSync(elsewhere, file)
      return file
    })
    const later = createRunFolder(data, { model: 'm' })
    rmSync(runPaths(later.directory).config)
    symlinkSync(elsewhere, runPaths(later.directory).config)
    expect(() => readEvents(events!)).toThrow('is a link that leads out of its folder')
    expect(() => readOwnConfig(path.dirname(config!))).toThrow('is a link that leads out of its folder')
    expect(() => host.history.add(later)).toThrow('is a link that leads out of its folder')
    const asked = { runId: runs[2]!.id, maxBytes: 1000 }
    expect(() => log(asked, context)).toThrow('is a link that leads out of its folder')
  })

  test.each([
    ['a link', symlinkSync],
    ['a second name', linkSync],
  ] as const)('gives no code, script or description that is %s of a file elsewhere', (_, linkTo) => {
    const elsewhere = path.join(newFolder(), 'secret.js')
    writeFileSync(elsewhere, '{"format":1,"file":null,"sha256":null}')
    const { directory } = createRunFolder(newFolder(), { model: 'm' })
    const rewards = [{ function: path.join(root, 'mine.js'), weight: 1, settings: {} }]
    const { rewards: code, script, run } = runPaths(directory)
    mkdirSync(code, { recursive: true })
    rmSync(run)
    for (const name of [path.join(code, '0-mine.js'), script, run]) linkTo(elsewhere, name)
    expect(() => runRewardCode({ rewards }, 0, directory)).toThrow(unreadable)
    expect(() => readScriptReference(directory)).toThrow(unreadable)
    expect(() => openRunFolder(root, directory)).toThrow(`${run} is a`)
  })

  test('gives no code through a folder of it that leads elsewhere', () => {
    const [run, elsewhere] = [newFolder(), newFolder()]
    writeFileSync(path.join(elsewhere, '0-mine.js'), 'export default () => 1')
    symlinkSync(elsewhere, runPaths(run).rewards)
    const rewards = [{ function: path.join(root, 'mine.js'), weight: 1, settings: {} }]
    expect(() => runRewardCode({ rewards }, 0, run)).toThrow(unreadable)
  })

  test('has no leftovers behind the link', () => {
    const [data, elsewhere] = [newFolder(), newFolder()]
    const run = path.join(data, 'runs', 'run_1')
    mkdirSync(run, { recursive: true })
    writeFileSync(path.join(elsewhere, '.mine.removed'), '')
    symlinkSync(elsewhere, runPaths(run).checkpoints)
    expect(findLeftovers(data)).toEqual([])
  })
})

/** Opens and ends a host over a data directory that was made before. */
async function started(data: string): Promise<void> {
  await using _host = createHost({ dataDirectory: data, servesQueue: true })
}

/** Kinds of entries that are no files, and how one is put in a place. */
const stranger = {
  link: (place: string) => symlinkSync(newFolder(), place),
  pipe: (place: string) => void execFileSync('mkfifo', [place]),
}

describe.runIf(isPosix)('a data directory', () => {
  const areas = Object.keys(dataFolders('')) as (keyof ReturnType<typeof dataFolders>)[]
  const files = ['history.db', 'history.db-wal', 'history.db-shm', 'history.db-journal', 'home.json']
  const lists = ['host.json', 'hub-ids.json', 'python-consents.json', 'outbound-requests', '.libraries.turn']

  test.each(areas)('is refused where an entry of %s is a link or a pipe', async (area) => {
    const readOnly = ['models', 'adapters'].includes(area)
    for (const kind of ['link', 'pipe'] as const) {
      const data = newFolder()
      const place = path.join(dataFolders(data)[area], 'run_1')
      mkdirSync(path.dirname(place))
      stranger[kind](place)
      const opened = started(data)
      if (readOnly && kind === 'link') await opened
      else await expect(opened).rejects.toEqual(unwritable)
    }
  })

  test.each([...files, ...lists])(
    'is refused, and nobody waits, where %s is a link or a pipe',
    async (name) => {
      for (const put of [stranger.pipe, (place: string) => symlinkSync(own, place)]) {
        const data = newFolder()
        await started(data)
        rmSync(path.join(data, name), { force: true })
        put(path.join(data, name))
        await expect(started(data)).rejects.toEqual(unwritable)
      }
      expect(readFileSync(own, 'utf8')).toBe(mine)
    },
  )

  test('takes a run on another disk under its own name, and no other folder for one', () => {
    const [data, disk] = [newFolder(), newFolder()]
    const { id, directory } = createRunFolder(data, { model: 'm' })
    renameSync(directory, path.join(disk, id))
    symlinkSync(path.join(disk, id), directory)
    expect(ownDataDirectory(data)).toBe(data)
    expect(() => lockRun(entryOf(path.dirname(directory), id))[Symbol.dispose]()).not.toThrow()
    rmSync(directory)
    renameSync(path.join(disk, id), path.join(disk, 'project'))
    symlinkSync(path.join(disk, 'project'), directory)
    expect(() => ownDataDirectory(data)).toThrow(unwritable)
    expect(() => entryOf(path.dirname(directory), id)).toThrow(unwritable)
  })

  test('is not written through a link that came while a host works', async () => {
    const [data, elsewhere] = [newFolder(), newFolder()]
    const rows = path.join(newFolder(), 'rows.jsonl')
    writeFileSync(rows, '{"prompt":"a"}\n')
    const { datasets, models } = dataFolders(data)
    const { version } = await importDataSet(rows, { folder: datasets })
    renameSync(version.directory, path.join(elsewhere, 'version'))
    symlinkSync(path.join(elsewhere, 'version'), version.directory)
    const about = path.join(elsewhere, 'version', 'version.json')
    const before = readFileSync(about, 'utf8')
    await expect(importDataSet(rows, { folder: datasets, name: 'other' })).rejects.toEqual(unwritable)
    expect(readFileSync(about, 'utf8')).toBe(before)
    mkdirSync(models, { recursive: true })
    symlinkSync(elsewhere, path.join(models, 'm'))
    expect(() => rememberHubId(path.join(models, 'm'), 'a/b', data)).toThrow(unwritable)
    expect(readdirSync(elsewhere)).toEqual(['version'])
    mkdirSync(path.join(data, 'studies'))
    symlinkSync(elsewhere, path.join(data, 'studies', 'st_1'))
    expect(() => studyDirectory(data, 'st_1')).toThrow(unwritable)
  })
})

describe.runIf(isPosix)('rows of others', () => {
  const rows = '{"prompt":"mine"}\n'
  const outside = path.join(root, 'rows.jsonl')
  writeFileSync(outside, rows)

  test.each([
    ['a link', symlinkSync],
    ['a second name', linkSync],
  ] as const)('are not read under %s of an upload or a data set', async (_, linkTo) => {
    const { uploads, datasets } = dataFolders(newFolder())
    const uploadId = 'upl_01900000-0000-7000-8000-000000000000'
    const folder = path.join(uploads, uploadId)
    mkdirSync(folder, { recursive: true })
    linkTo(outside, path.join(folder, 'train.jsonl'))
    await expect(findUpload(uploads, uploadId)).rejects.toEqual(unreadable)
    writeFetched(folder, 'a/b', ['train.jsonl'])
    expect(() => readFetched(folder)).toThrow(unreadable)
    const { version } = await importDataSet(outside, { folder: datasets })
    rmSync(path.join(version.directory, 'rows.jsonl'))
    linkTo(outside, path.join(version.directory, 'rows.jsonl'))
    expect(() => openDataSetVersion(version.directory)).toThrow(unreadable)
  })

  test.each([
    ['a link', symlinkSync],
    ['a second name', linkSync],
  ] as const)(
    'are not read under %s that a config names, for training, validation or a corpus',
    async (_, linkTo) => {
      const [folder, disk, cache] = [newFolder(), newFolder(), newFolder()]
      const [linked, real] = [path.join(folder, 'linked.jsonl'), path.join(folder, 'real.jsonl')]
      const elsewhere = path.join(disk, 'rows.jsonl')
      for (const file of [real, elsewhere]) writeFileSync(file, '{"prompt":"mine","text":"mine"}\n')
      linkTo(elsewhere, linked)
      const advice = {
        code: 'file/unreadable',
        hint: expect.stringContaining('Name the file that you mean') as string,
      }
      for (const data of [
        { train: linked, heldOut: null },
        { train: real, heldOut: linked },
      ])
        await expect(readRunData(data)).rejects.toMatchObject(advice)
      await expect(openCorpus(linked, cache)).rejects.toMatchObject(advice)
      // By its own name, also behind a linked folder, and by a link within the folder.
      const [behind, near] = [path.join(folder, 'disk'), path.join(folder, 'near.jsonl')]
      symlinkSync(disk, behind)
      symlinkSync('real.jsonl', near)
      rmSync(linked)
      for (const file of [elsewhere, path.join(behind, 'rows.jsonl'), near]) {
        expect(await readDataSet(file)).toHaveLength(1)
        using _index = await openCorpus(file, cache)
      }
    },
  )

  test('are not read through a folder beside the config that leads elsewhere, and neither is code', async () => {
    const [folder, disk, data] = [newFolder(), newFolder(), newFolder()]
    const file = path.join(folder, 'run.json')
    const at = (...names: string[]) => path.join(...names)
    for (const [name, content] of [
      ['rows.jsonl', rows],
      ['reward.js', 'export default () => 1'],
    ] as const)
      for (const place of [disk, folder]) writeFileSync(path.join(place, name), content)
    symlinkSync(disk, path.join(folder, 'linked'))
    symlinkSync('.', path.join(folder, 'near'))
    const sections = (where: string): Record<string, unknown>[] => {
      const environment = { function: 'search', settings: { corpus: at(where, 'rows.jsonl') } }
      const reward = { function: at(where, 'reward.js'), weight: 1 }
      return [
        { data: { ...starterConfig.data, train: at(where, 'rows.jsonl') } },
        { data: { ...starterConfig.data, heldOut: at(where, 'rows.jsonl') } },
        { environment },
        { rewards: [reward] },
        { rollout: { ...starterConfig.rollout, workflow: { function: at(where, 'reward.js') } } },
        { stages: [{ steps: 1, data: { train: at(where, 'rows.jsonl') } }] },
      ]
    }
    const read = (changed: Record<string, unknown>) => {
      writeFileSync(file, JSON.stringify({ ...starterConfig, ...changed }))
      return readRunConfig(file, data)
    }
    const up = `../${path.basename(folder)}`
    for (const changed of [...sections('linked'), ...sections(`${up}/linked`)])
      expect(() => read(changed), JSON.stringify(changed)).toThrow('leads out of')
    // Named by its words, within the folder, or from outside of it.
    for (const where of [folder, path.join(folder, 'linked'), '.', 'near', up, path.relative(folder, disk)])
      for (const changed of sections(where)) expect(() => read(changed), where).not.toThrow()
  })

  test('are not read through a folder of a run that leads out of it, by whatever name', async () => {
    const [data, disk] = [newFolder(), newFolder()]
    await started(data)
    const { directory, id } = createRunFolder(data, { model: 'm' })
    mkdirSync(path.join(directory, 'own'))
    for (const folder of [disk, path.join(directory, 'own')])
      writeFileSync(path.join(folder, 'rows.jsonl'), rows)
    symlinkSync(disk, path.join(directory, 'linked'))
    await expect(readDataSet(path.join(directory, 'linked', 'rows.jsonl'))).rejects.toEqual(unreadable)
    renameSync(directory, path.join(disk, id))
    symlinkSync(path.join(disk, id), directory)
    expect(await readDataSet(path.join(directory, 'own', 'rows.jsonl'))).toHaveLength(1)
  })

  test('are read in a cache of data sets from the blobs of the same repository, and from no others', async () => {
    const repo = path.join(newFolder(), 'datasets--a--b')
    const folder = path.join(repo, 'snapshots', 'c0ffee', 'data')
    mkdirSync(folder, { recursive: true })
    mkdirSync(path.join(repo, 'blobs'))
    writeFileSync(path.join(repo, 'blobs', '1'), rows)
    symlinkSync('../../../blobs/1', path.join(folder, 'train.jsonl'))
    expect(await readDataSet(path.join(folder, 'train.jsonl'))).toEqual([{ prompt: 'mine' }])
    symlinkSync(outside, path.join(folder, 'test.jsonl'))
    await expect(readDataSet(path.join(folder, 'test.jsonl'))).rejects.toEqual(unreadable)
  })

  test('are not read where a note of a download leads out of its folder, nor listed behind a link', async () => {
    const { uploads } = dataFolders(newFolder())
    const folder = path.join(uploads, 'upl_01900000-0000-7000-8000-000000000000')
    mkdirSync(folder, { recursive: true })
    writeFetched(folder, 'a/b', [path.relative(folder, outside)])
    expect(() => readFetched(folder)).toThrow(unreadable)
    symlinkSync(outside, path.join(folder, 'train.jsonl'))
    expect(await listUploads(uploads)).toEqual([])
  })
})

describe('a file with a second name', () => {
  test.each(writers.filter(([name]) => name !== 'file.part'))(
    'is not written as %s (%#)',
    async (name, write) => {
      const folder = newFolder()
      const target = path.join(newFolder(), 'notes')
      writeFileSync(target, mine)
      linkSync(target, path.join(folder, name))
      await Promise.allSettled([(async () => await write(folder))()])
      expect(readFileSync(target, 'utf8')).toBe(mine)
    },
  )

  test('is not written as what processes print', () => {
    const run = home.createRun(starterConfig)
    const target = path.join(newFolder(), 'log')
    writeFileSync(target, 'x'.repeat(2 << 20))
    linkSync(target, runPaths(run.directory).workerLog)
    expect(() => home.supervise().start(run, { resumeFrom: null })).toThrow(unwritable)
    expect(readFileSync(target, 'utf8')).toHaveLength(2 << 20)
  })

  test('is neither copied nor read as a part of a folder from elsewhere, but for weights', async () => {
    const folder = newFolder()
    for (const name of ['LICENSE', 'adapter_config.json']) {
      linkSync(own, path.join(folder, name))
      await expect(copyIfThere(name, folder, newFolder())).rejects.toThrow(
        `${name} is a file with a second name`,
      )
    }
    expect(() => copyFolder(folder, path.join(newFolder(), 'to'))).toThrow(unreadable)
    const run = home.createRun(starterConfig)
    const { config, events } = runPaths(run.directory)
    for (const file of [config, events]) {
      rmSync(file, { force: true })
      linkSync(own, file)
    }
    expect(() => readOwnConfig(run.directory)).toThrow('second name')
    using store = openStore(path.join(newFolder(), 'history.db'))
    store.runs.add({ ...run, config: JSON.stringify(starterConfig) })
    expect(() => store.ingest(run.id, events)).toThrow('second name')
  })
})

describe.runIf(isPosix)('a copy', () => {
  test('of a folder has ordinary files, and links that stay inside as what they lead to', () => {
    const good = newFolder()
    mkdirSync(path.join(good, 'sub'))
    writeFileSync(path.join(good, 'sub', 'a.txt'), 'a')
    symlinkSync('sub/a.txt', path.join(good, 'b.txt'))
    const to = path.join(newFolder(), 'to')
    copyFolder(good, to)
    expect(readFileSync(path.join(to, 'b.txt'), 'utf8')).toBe('a')
    expect(readFileSync(path.join(to, 'sub', 'a.txt'), 'utf8')).toBe('a')
    const linked = path.join(newFolder(), 'linked')
    symlinkSync(good, linked)
    expect(() => copyFolder(linked, path.join(newFolder(), 'to'))).toThrow(unreadable)
    for (const target of ['/proc/self/environ', '/dev/zero', own, pipe, path.dirname(good), root]) {
      const folder = newFolder()
      symlinkSync(target, path.join(folder, 'notes.txt'))
      expect(() => copyFolder(folder, path.join(newFolder(), 'to'))).toThrow(unreadable)
    }
    execFileSync('mkfifo', [path.join(good, 'pipe')])
    expect(() => copyFolder(good, path.join(newFolder(), 'to'))).toThrow(unreadable)
  })

  test('of a file of a model follows a link into its own repository of the cache, and no other', async () => {
    const repo = path.join(newFolder(), 'models--a--b')
    const snapshot = path.join(repo, 'snapshots', 'c0ffee')
    mkdirSync(snapshot, { recursive: true })
    mkdirSync(path.join(repo, 'blobs'))
    writeFileSync(path.join(repo, 'blobs', '1'), 'licence')
    symlinkSync('../../blobs/1', path.join(snapshot, 'LICENSE'))
    const to = newFolder()
    await copyIfThere('LICENSE', snapshot, to)
    expect(readFileSync(path.join(to, 'LICENSE'), 'utf8')).toBe('licence')

    symlinkSync(own, path.join(repo, 'blobs', '2'))
    symlinkSync('../../blobs/2', path.join(snapshot, 'NOTICE'))
    const plain = newFolder()
    symlinkSync(own, path.join(plain, 'NOTICE'))
    for (const folder of [snapshot, plain])
      await expect(copyIfThere('NOTICE', folder, newFolder())).rejects.toEqual(unreadable)
  })
})

/** Reads a file under a name that its reader looks for. */
const readers: readonly (readonly [string, (folder: string, file: string) => unknown])[] = [
  ['reward.js', (_, file) => readRewardCode({ file, language: 'js' })],
  ['script.mjs', (_, file) => loadScript(file)],
  ['model.gguf.blob', (_, file) => ggufFileOf(file)],
  ['config.json', (folder) => plannedConfig(folder)],
  ['answers.jsonl', (folder) => answers.readAnswers(folder)],
  ['log.jsonl', (folder) => readStudyLog(folder)],
  ['pyvenv.cfg', (folder) => interpreterFiles(python(folder), folder)],
]

function python(folder: string): string {
  const program = path.join(folder, 'python3')
  writeFileSync(program, '')
  return program
}

describe.runIf(isPosix)('code, settings and small files', () => {
  test.each(readers)('as a pipe or a device %s is refused at once', async (name, read) => {
    const place = () => {
      const folder = newFolder()
      return [folder, path.join(folder, name)] as const
    }
    const [piped, waiting] = place()
    execFileSync('mkfifo', [waiting])
    const [endless, zeros] = place()
    symlinkSync('/dev/zero', zeros)
    for (const [folder, file] of [
      [piped, waiting],
      [endless, zeros],
    ] as const)
      await expect((async () => await read(folder, file))()).rejects.toThrow(AppError)
  })

  test.each([
    ['a link', symlinkSync],
    ['a second name', linkSync],
  ] as const)('code is not read under %s of a file elsewhere', (_, linkTo) => {
    const [folder, disk] = [newFolder(), newFolder()]
    writeFileSync(path.join(disk, 'real.js'), 'export default () => 1')
    linkTo(path.join(disk, 'real.js'), path.join(folder, 'reward.js'))
    expect(() => readRewardCode({ file: path.join(folder, 'reward.js'), language: 'js' })).toThrow(unreadable)
  })

  test('code is read by its own name, also behind a linked folder', () => {
    const [folder, disk] = [newFolder(), newFolder()]
    writeFileSync(path.join(disk, 'real.js'), 'export default () => 1')
    symlinkSync(disk, path.join(folder, 'disk'))
    const file = path.join(folder, 'disk', 'real.js')
    expect(readRewardCode({ file, language: 'js' })).toMatchObject({ file })
  })

  test('code has a size', () => {
    const file = path.join(root, 'large.js')
    writeFileSync(file, '')
    truncateSync(file, 1 << 26)
    expect(() => readRewardCode({ file, language: 'js' })).toThrow(unreadable)
  })

  test('a card that is a pipe states no licence', () => {
    const folder = newFolder()
    writeFileSync(path.join(folder, 'model.safetensors'), '')
    execFileSync('mkfifo', [path.join(folder, 'README.md')])
    expect(licenseOf(folder)).toBeNull()
  })
})

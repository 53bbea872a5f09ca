/** Files that come over HTTP: whole or not at all, within limits, under names that cannot lead anywhere. */
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  discardOldUploads,
  discardUpload,
  findUpload,
  findUploadedFolder,
  listUploads,
  type Upload,
} from '#host/transports/uploads.ts'
import { uploadsPath } from '#shared/api/webSocketPort.ts'
import { ask, startFixture, type Answer, type Fixture } from './serverFixture.ts'
import { eventually } from '../../eventually.ts'

let fixture: Fixture

beforeEach(async () => {
  fixture = await startFixture({ uploadLimitBytes: 100_000 })
})

afterEach(async () => {
  await fixture[Symbol.asyncDispose]()
})

const authorization = (): Record<string, string> => ({ authorization: `Bearer ${fixture.server.token}` })

const put = (
  name: string,
  body: Uint8Array | string,
  headers: Record<string, string> = {},
): Promise<Answer> =>
  ask(fixture.port, {
    method: 'PUT',
    path: `${uploadsPath}?name=${encodeURIComponent(name)}`,
    headers: { ...authorization(), ...headers },
    body,
  })

/** A file of a folder. */
const putInto = (into: string, name: string, body = name): Promise<Answer> => {
  const query = new URLSearchParams({ name, into }).toString()
  const path = `${uploadsPath}?${query}`
  return ask(fixture.port, { method: 'PUT', path, headers: authorization(), body })
}

test('whole files that nobody imported are listed, newest first; folders and what is still coming are not', async () => {
  expect(await listUploads(fixture.uploads)).toEqual([])
  await put('sums.csv', 'a,b')
  await putInto('new', 'config.json')
  await put('more.jsonl', '{}')
  const folder = path.join(fixture.uploads, 'upl_0199aaaa-0000-7000-8000-000000000000')
  mkdirSync(folder)
  writeFileSync(path.join(folder, '.partial-1'), 'a')
  const listed = await listUploads(fixture.uploads)
  expect(listed.map(({ name, sizeBytes }) => [name, sizeBytes])).toEqual([
    ['more.jsonl', 2],
    ['config.json', 11],
    ['sums.csv', 3],
  ])
})

const left = (): string[] => (existsSync(fixture.uploads) ? readdirSync(fixture.uploads) : [])

test('a file arrives byte for byte and is found by its id', async () => {
  const body = Uint8Array.from({ length: 90_000 }, (_, index) => index % 251)
  const answer = await put('rows of mine.parquet', body)
  const upload = JSON.parse(answer.body) as Upload
  expect(answer.status).toBe(201)
  expect(upload).toEqual({
    uploadId: expect.stringMatching(/^upl_/) as string,
    name: 'rows of mine.parquet',
    sizeBytes: 90_000,
  })
  const file = await findUpload(fixture.uploads, upload.uploadId)
  expect(readFileSync(file)).toEqual(Buffer.from(body))
  expect(file.startsWith(fixture.uploads + path.sep)).toBe(true)
  await discardUpload(fixture.uploads, upload.uploadId)
  await expect(findUpload(fixture.uploads, upload.uploadId)).rejects.toMatchObject({
    code: 'file/unreadable',
  })
  expect(left()).toEqual([])
})

test.each([
  ['../../../etc/passwd', 'passwd'],
  ['..\\..\\windows\\win.ini', 'win.ini'],
  ['/abs/rows.csv', 'rows.csv'],
  ['.hidden', 'hidden'],
  ['...', 'upload'],
  ['', 'upload'],
  ['a\0b.json', 'a_b.json'],
  ['con:stream.csv', 'con_stream.csv'],
  ['Übung 1.tsv', 'Übung 1.tsv'],
  [`${'x'.repeat(300)}.jsonl`, `${'x'.repeat(60)}.jsonl`],
])('the name %j becomes %j', async (given, kept) => {
  const upload = JSON.parse((await put(given, 'x')).body) as Upload
  expect(upload.name).toBe(kept)
  expect(await findUpload(fixture.uploads, upload.uploadId)).toBe(
    path.join(fixture.uploads, upload.uploadId, kept),
  )
})

test('a file over the limit is refused in words, whether it says its size or not, and leaves nothing', async () => {
  const body = Buffer.alloc(100_001)
  const told = await put('a.csv', body)
  expect(told.status).toBe(413)
  expect(JSON.parse(told.body)).toMatchObject({ message: expect.stringContaining('larger than') as string })
  expect((await put('a.csv', body, { 'transfer-encoding': 'chunked' })).status).toBe(413)
  expect(left()).toEqual([])
  expect((await put('a.csv', Buffer.alloc(100_000))).status).toBe(201)
})

test('an upload that breaks off leaves nothing', async () => {
  const sent = request({
    host: '127.0.0.1',
    port: fixture.port,
    method: 'PUT',
    path: uploadsPath,
    headers: { ...authorization(), 'content-length': '5000' },
  })
  sent.on('error', () => undefined)
  sent.write(Buffer.alloc(1000))
  await eventually(() => expect(left()).toHaveLength(1))
  sent.destroy()
  await eventually(() => expect(left()).toEqual([]))
  expect(fixture.faults).toEqual([])
})

test('only so many at once', async () => {
  const options = { host: '127.0.0.1', port: fixture.port, method: 'PUT', path: uploadsPath }
  const slow = Array.from({ length: 4 }, () => {
    const sent = request({ ...options, headers: { ...authorization(), 'content-length': '10' } })
    sent.on('error', () => undefined)
    sent.write('x')
    return sent
  })
  await eventually(() => expect(left()).toHaveLength(4))
  expect((await put('a.csv', 'x')).status).toBe(429)
  for (const sent of slow) sent.destroy()
  await eventually(() => expect(left()).toEqual([]))
  expect((await put('a.csv', 'x')).status).toBe(201)
})

test('the files of a folder come one by one and keep their places', async () => {
  const first = JSON.parse((await putInto('new', 'my model/config.json')).body) as Upload
  expect(first).toMatchObject({ name: path.join('my model', 'config.json'), sizeBytes: 20 })
  const { uploadId } = first
  const others = ['my model/tokenizer.json', 'my model/onnx/weights.bin'].map((name) =>
    putInto(uploadId, name),
  )
  for (const answer of await Promise.all(others)) {
    expect(answer.status).toBe(201)
    expect(JSON.parse(answer.body)).toMatchObject({ uploadId })
  }
  const folder = await findUploadedFolder(fixture.uploads, uploadId)
  expect(folder).toBe(path.join(fixture.uploads, uploadId, 'my model'))
  expect(readdirSync(folder).sort()).toEqual(['config.json', 'onnx', 'tokenizer.json'])
  expect(readFileSync(path.join(folder, 'onnx', 'weights.bin'), 'utf8')).toBe('my model/onnx/weights.bin')
  // What is refused takes nothing else with it.
  const large = await putInto(uploadId, 'my model/large.bin', 'x'.repeat(100_001))
  expect(large.status).toBe(413)
  expect(readdirSync(folder).sort()).toEqual(['config.json', 'onnx', 'tokenizer.json'])
  expect(readdirSync(path.join(fixture.uploads, uploadId))).toEqual(['my model'])

  await putInto(uploadId, 'README.md')
  expect(await findUploadedFolder(fixture.uploads, uploadId)).toBe(path.join(fixture.uploads, uploadId))
  await discardUpload(fixture.uploads, uploadId)
  expect((await putInto(uploadId, 'late.json')).status).toBe(404)
  await expect(findUploadedFolder(fixture.uploads, uploadId)).rejects.toMatchObject({
    code: 'file/unreadable',
  })
  expect(left()).toEqual([])
})

test.each([
  '../config.json',
  'model/../../config.json',
  'model/..',
  '/etc/passwd',
  'model//config.json',
  'model\\config.json',
  '.git/config',
  'model/.hidden',
  'C:/model/config.json',
  'model/con\0fig.json',
  'model/name. ',
  'a/b/c/d/e/f.json',
  `${'x'.repeat(101)}.json`,
  '',
])('the name %j is none of a file in a folder', async (name) => {
  const { status, body } = await putInto('new', name, 'x')
  expect([status, JSON.parse(body)]).toMatchObject([
    400,
    { message: expect.stringContaining('is not a valid file name') as string },
  ])
  expect(left()).toEqual([])
})

test('only ids of uploads are added to', async () => {
  for (const into of ['..', 'upl_../../x', '', `upl_${'.'.repeat(36)}`]) {
    expect((await putInto(into, 'config.json')).status).toBe(400)
  }
  expect((await putInto('upl_01890a5d-ac96-774b-bcce-b302099a8057', 'config.json')).status).toBe(404)
  expect(left()).toEqual([])
})

test('a disk that takes nothing is said in words', async () => {
  writeFileSync(fixture.uploads, 'a file where the folder should be')
  const { status, body } = await put('a.csv', 'x')
  expect([status, JSON.parse(body)]).toEqual([
    507,
    {
      message: expect.stringContaining('could not be written') as string,
      hint: expect.any(String) as string,
    },
  ])
})

test('an id that is none reaches no path', async () => {
  for (const id of ['..', 'upl_../../x', '', `upl_${'.'.repeat(36)}`]) {
    await expect(findUpload(fixture.uploads, id)).rejects.toMatchObject({ code: 'api/invalid' })
    await expect(discardUpload(fixture.uploads, id)).rejects.toMatchObject({ code: 'api/invalid' })
  }
})

test('what nobody came back for is removed, what is young or not ours stays', async () => {
  const [old, young] = [await put('old.csv', 'x'), await put('young.csv', 'x')].map(
    ({ body }) => (JSON.parse(body) as Upload).uploadId,
  )
  mkdirSync(path.join(fixture.uploads, 'notes'))
  const yesterday = new Date(Date.now() - 86_400_000)
  for (const name of [old ?? '', 'notes']) utimesSync(path.join(fixture.uploads, name), yesterday, yesterday)
  await discardOldUploads(fixture.uploads, 3_600_000)
  expect(left().sort()).toEqual(['notes', young].sort())
  await discardOldUploads(path.join(fixture.directory, 'nowhere'), 0)
})

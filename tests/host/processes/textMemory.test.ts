import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { TextProcesses } from '#host/models/textQuestion.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-memory-'))

afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('a tokenizer that takes too much memory is stopped, and others are answered', async () => {
  const [good, bad] = [path.join(folder, 'good'), path.join(folder, 'bad')]
  for (const model of [good, bad]) cpSync('resources/starter', model, { recursive: true })
  // Read, an empty list is twenty times as large.
  writeFileSync(path.join(bad, 'tokenizer.json'), `{"model":[${'[],'.repeat(40 << 20)}[]]}`)
  using texts = new TextProcesses(undefined, { answer: { workMs: 100_000, idleMs: 100_000 } })
  const tokens = texts.ask({ type: 'tokenize', directory: good, text: 'One' })
  await expect(texts.ask({ type: 'tokenize', directory: bad, text: 'One' })).rejects.toMatchObject({
    code: 'tokenizer/invalid',
    message: expect.stringContaining(
      `${bad} ended its process (SIGKILL), as one that needs more than 2 GiB`,
    ) as string,
  })
  expect(await texts.ask({ type: 'tokenize', directory: good, text: 'One' })).toEqual(await tokens)
})

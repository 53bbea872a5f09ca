import { mkdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { list, markup, page, section, table, chart } from '#host/api/reportPage.ts'
import { answer as turnwise } from '../../cli/turnwise.ts'
import { createHostFixture } from './hostFixture.ts'

const fixture = createHostFixture()
const { client } = fixture
const hostile = `<img src=https://example.org/x onerror=alert(1)>"'&\u202e\u0000</title><script>`
let runIds: string[]

beforeAll(async () => {
  const prompt = { template: `{prompt} </pre><script>alert(2)</script>` }
  const { data } = (await import('./hostFixture.ts')).smallConfig as { data: object }
  runIds = [
    await fixture.start({ name: hostile, data: { ...data, prompt } as never }),
    await fixture.start({ name: 'other' }),
  ]
  for (const runId of runIds) await fixture.reached(runId, 'finished')
})
afterAll(() => fixture[Symbol.asyncDispose]())

const tags = (written: string) => [...new Set([...written.matchAll(/<([a-z0-9]+)/g)].map(([, tag]) => tag))]

test('a report holds what the history says, and every text of others as text', async () => {
  const { html: written } = await client.call('runs.report', { runIds })
  expect(written).toMatch(
    /^<!doctype html>\n<html lang="en"><head><meta charset="utf-8"\/><meta http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;; style-src &#39;unsafe-inline&#39;"\/>/,
  )
  expect(tags(written)).not.toContain('img')
  expect(tags(written)).not.toContain('script')
  expect(written).not.toMatch(/[\u202e\u0000]/)
  expect(written).toContain(
    '&lt;img src=https://example.org/x onerror=alert(1)&gt;&quot;&#39;&amp;\\u{202e}\\u{0}',
  )
  expect(written).toContain('&lt;script&gt;alert(2)&lt;/script&gt;')
  const { runs } = await client.call('runs.compare', { runIds })
  const differing = Object.keys(runs[0]?.settings ?? {})
  expect(differing).toContain('data.prompt.template')
  for (const key of differing.filter((each) => each !== 'name'))
    expect(written).toContain(`<span title="${key}">`)
  for (const heading of [
    'Runs',
    'Is the gap real?',
    'Curves',
    'What differs',
    'Diagnosis',
    'Samples',
    'Machine and versions',
  ])
    expect(written).toContain(`<h2>${heading}</h2>`)
  expect(written).toContain('<td>GRPO</td>')
  expect(written).toContain('too few values to tell')
  expect(written).toContain('cpu, 1 thread')
  expect(written).toMatch(/<path class="line c1" d="M[\d. ]+L/)
  const { findings } = await client.call('runs.diagnosis', { runId: runIds[0]! })
  for (const { words } of findings) expect(written).toContain(markup`${words}`.html)
})

test('the command writes the same, of one run with all its settings, and replaces no file unasked', async () => {
  const file = path.join(fixture.directory, 'exports', 'report.html')
  mkdirSync(path.dirname(file))
  const args = ['--data-dir', fixture.directory, 'runs', 'report', runIds[1]!, '--html', file]
  expect((await turnwise(...args)).status).toBe(0)
  const { html: written } = await client.call('runs.report', { runIds: [runIds[1]!] })
  expect(readFileSync(file, 'utf8')).toBe(written)
  expect(written).toContain('<h2>Settings</h2>')
  const [given = '', others = ''] = (/<h2>Settings<\/h2>(.*?)<\/section>/s.exec(written)?.[1] ?? '').split(
    '<details>',
  )
  expect(given).toContain('Training data')
  expect(others).toMatch(/\d+ settings at their defaults/)
  expect(written).toContain('<span title="rollout.maxNewTokens">Max new tokens</span>')
  expect(written).not.toContain('Is the gap real?')
  expect((await turnwise(...args)).status).toBe(1)
  expect((await turnwise(...args, '--force')).status).toBe(0)
  expect((await turnwise(...args, '--force', '--metric', 'nothing')).stderr).toContain('nothing')
})

test('lines break where there is no number, and one value alone can be seen', () => {
  const points = [0, 1, 2, 3].map((x) => ({ x, y: x }))
  expect(chart('a', [{ index: 0, points, gaps: [2] }]).html).toMatch(/d="M[\d. ]+L[\d. ]+M[\d. ]+L[\d. ]+"/)
  expect(chart('a', [{ index: 9, points: [{ x: 1, y: 5 }], gaps: [] }]).html).toMatch(
    /<circle class="c1" cx="\d/,
  )
  expect(chart('<a>', []).html).toContain('&lt;a&gt;')
  expect(page('', '', [section('empty', []), list([table(['<'], [['>']])])])).toContain('<td>&gt;</td>')
})

test('prompts that runs share stand in one row, with a column of answers for each run', async () => {
  const again = await fixture.start({ name: 'again', seed: 3 })
  await fixture.reached(again, 'finished')
  const { html: written } = await client.call('runs.report', { runIds: [runIds[1]!, again] })
  const [, samples = ''] = /<h2>Samples<\/h2>(.*?)<\/section>/s.exec(written) ?? []
  expect(samples).toMatch(
    /<th scope="col">Prompt<\/th><th scope="col">other, step \d+<\/th><th scope="col">again, step/,
  )
  expect(samples.match(/<small>Reward/g)!.length).toBe(2 * (samples.match(/<tr>/g)!.length - 1))
  expect(written).toContain('Entropy (nats)')
})

test('a line that never changes is a sentence', () => {
  const points = [1, 2, 3].map((x) => ({ x, y: 0 }))
  const { html: written } = chart('Clip fraction', [{ index: 0, points, gaps: [] }])
  expect(written).toContain('<p>0 at every step.</p>')
  expect(written).not.toContain('<svg')
})

/** Models whose template or tokenizer never comes to an end, opened by one client of a real `turnwise serve`. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Api } from '#shared/api/api.ts'
import { createClient, type Client } from '#shared/api/client.ts'
import { openWebSocketPort } from '#shared/api/webSocketPort.ts'
import { hostileTemplates } from '../../scripts/fuzz/templateSeeds.ts'
import { createWorkplace, killGroup, linesOf, type Running } from './turnwise.ts'

const starter = path.resolve('resources/starter')
const place = createWorkplace()
let served: Running
let attacker: Client<Api>
let bystander: Client<Api>

beforeAll(async () => {
  served = place.start('serve', '--json', '--window', place.folder)
  const [{ url }] = linesOf(await firstLine(served)) as [{ url: string }]
  const [origin = '', token = ''] = url.split('/#token=')
  const connect = async () => createClient<Api>(await openWebSocketPort({ origin, token }))
  attacker = await connect()
  bystander = await connect()
  await bystander.call('models.tokenize', { model: starter, text: 'warm' })
}, 60_000)

afterAll(() => {
  if (served.child.exitCode === null) killGroup(served)
  place[Symbol.dispose]()
})

function firstLine({ child }: Running): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8')
      if (text.includes('\n')) resolve(text)
    })
  })
}

type Files = { readonly template: string } | { readonly pattern: string }

/** The starter model with another template, or another pattern that cuts texts. */
function modelWith(name: string, files: Files): string {
  const folder = place.path(name)
  cpSync(starter, folder, { recursive: true })
  if ('template' in files) writeFileSync(path.join(folder, 'chat_template.jinja'), files.template)
  else {
    const file = path.join(folder, 'tokenizer.json')
    const json = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>
    const split = {
      ...{ type: 'Split', pattern: { Regex: files.pattern }, behavior: 'Isolated', invert: false },
    }
    const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false }
    json['pre_tokenizer'] = { type: 'Sequence', pretokenizers: [split, byteLevel] }
    writeFileSync(file, JSON.stringify(json))
  }
  return folder
}

/** The longest that another client waited for an answer while `work` went on, ms. */
async function longestWait(work: Promise<unknown>): Promise<number> {
  let [isOver, longest] = [false, 0]
  void work.catch(() => undefined).then(() => (isOver = true))
  while (!isOver) {
    const startedAt = performance.now()
    await bystander.call('runs.list', {})
    await bystander.call('models.tokenize', { model: starter, text: `One and ${startedAt}` })
    longest = Math.max(longest, performance.now() - startedAt)
    await setTimeout(50)
  }
  return longest
}

const templates = [
  'spells shared lists',
  'writes shared lists as JSON',
  'compares shared lists',
  'makes lists unique',
]
const messages = [{ role: 'user' as const, content: 'Why?' }]

describe('a model that never comes to an end', { timeout: 120_000 }, () => {
  test.each(templates)('its template %s: others are answered, and it is said why', async (name) => {
    const model = modelWith(name, { template: hostileTemplates[name] ?? '' })
    const asked = attacker.call('models.renderChat', { model, messages })
    expect(await longestWait(asked)).toBeLessThan(1_000)
    await expect(asked).rejects.toMatchObject({
      code: 'tokenizer/invalid',
      message: expect.stringMatching(/cannot be used: .* more than/) as string,
    })
  })

  test.each(['a*a*a*a*a*a*a*a*b', String.raw`(?:\s*,\s*)\w*\w*\w*\w*\w*\w*;`])(
    'a pattern that is known to be slow is refused: %s',
    async (pattern) => {
      const model = modelWith(`slow-${pattern.length}`, { pattern })
      expect(await attacker.call('models.inspect', { path: model })).toMatchObject({
        problem: expect.stringContaining('can take forever') as string,
      })
    },
  )

  test('a pattern that is not found out is stopped, and its model can be asked again', async () => {
    const model = modelWith('found-out-late', { pattern: '[a-z]*[a-y]*[a-x]*[a-w]*[a-v]*[a-u]*!' })
    const asked = attacker.call('models.tokenize', { model, text: 'a'.repeat(400) + 'w'.repeat(300) })
    expect(await longestWait(asked)).toBeLessThan(1_000)
    await expect(asked).rejects.toMatchObject({
      code: 'tokenizer/invalid',
      message: expect.stringContaining(
        `${model} was stopped because it used up 15 s of processor time`,
      ) as string,
      hint: expect.stringContaining('everything else continues') as string,
    })
    expect(await attacker.call('models.tokenize', { model, text: 'ab' })).not.toEqual([])
  })

  test('Ctrl-C ends a host that is waiting for one', async () => {
    const model = modelWith('last', { pattern: '[a-z]*[a-y]*[a-x]*[a-w]*[a-v]*[a-u]*!' })
    const asked = attacker.call('models.tokenize', { model, text: 'a'.repeat(700) }).catch(() => undefined)
    await longestWait(Promise.race([asked, setTimeout(2_000)]))
    const startedAt = performance.now()
    served.child.kill('SIGINT')
    expect(await served.finished).toMatchObject({ status: 0 })
    expect(performance.now() - startedAt).toBeLessThan(10_000)
    await asked
  })
})

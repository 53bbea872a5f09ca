/** Models whose template or tokenizer never comes to an end, opened by one client of a real `turnwise serve`. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Api } from '#shared/api/api.ts'
import { createClient, type Client } from '#shared/api/client.ts'
import { openWebSocketPort } from '#shared/api/webSocketPort.ts'
import { hostileTemplates } from '../../scripts/fuzz/templateSeeds.ts'
import { isLong, longTitle } from '../sweeps.ts'
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
})

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
    const split = { type: 'Split', pattern: { Regex: files.pattern }, behavior: 'Isolated', invert: false }
    const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false }
    json['pre_tokenizer'] = { type: 'Sequence', pretokenizers: [split, byteLevel] }
    writeFileSync(file, JSON.stringify(json))
  }
  return folder
}

/** How often another client was answered while `work` went on: by the host itself, and by its process for texts. */
async function answersDuring(
  work: Promise<unknown>,
): Promise<{ readonly host: number; readonly texts: number }> {
  let [ended, host, texts] = [false, 0, 0]
  const isOver = () => ended
  void work.catch(() => undefined).then(() => (ended = true))
  for (let asked = 0; !isOver(); asked++) {
    await bystander.call('runs.list', {})
    if (!isOver()) host++
    await bystander.call('models.tokenize', { model: starter, text: `One and ${asked}` })
    if (!isOver()) texts++
    await setTimeout(50)
  }
  return { host, texts }
}

const templates = [
  'spells shared lists',
  'writes shared lists as JSON',
  'compares shared lists',
  'makes lists unique',
]
const messages = [{ role: 'user' as const, content: 'Why?' }]

describe('a model that never comes to an end', () => {
  test.each(templates)('its template %s: others are answered, and it is said why', async (name) => {
    const model = modelWith(name, { template: hostileTemplates[name] ?? '' })
    const asked = attacker.call('models.renderChat', { model, messages })
    expect((await answersDuring(asked)).host).toBeGreaterThan(0)
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

  // It takes all of its fifteen seconds. In every run one is ended below, and busyMachine.test.ts uses up a shorter limit.
  const stopped = 'a pattern that is not found out is stopped, and its model can be asked again'
  test.runIf(isLong)(longTitle(stopped), async () => {
    const model = modelWith('found-out-late', { pattern: '[a-z]*[a-y]*[a-x]*[a-w]*[a-v]*[a-u]*!' })
    const asked = attacker.call('models.tokenize', { model, text: 'a'.repeat(400) + 'w'.repeat(300) })
    const { host, texts } = await answersDuring(asked)
    expect(Math.min(host, texts)).toBeGreaterThan(1)
    await expect(asked).rejects.toMatchObject({
      code: 'tokenizer/invalid',
      message: expect.stringContaining(
        `${model} was stopped because it used up 15 s of processor time`,
      ) as string,
      hint: expect.stringContaining('everything else continues') as string,
    })
    expect(await attacker.call('models.tokenize', { model, text: 'ab' })).not.toEqual([])
  })

  test('Ctrl-C ends a host that is waiting for one, and others are answered until then', async () => {
    const model = modelWith('last', { pattern: '[a-z]*[a-y]*[a-x]*[a-w]*[a-v]*[a-u]*!' })
    const asked = attacker.call('models.tokenize', { model, text: 'a'.repeat(700) })
    const ended = asked.catch((error: unknown) => error)
    for (let asked = 0; asked < 3; asked++) {
      await bystander.call('runs.list', {})
      await bystander.call('models.tokenize', { model: starter, text: `Until then ${asked}` })
    }
    served.child.kill('SIGINT')
    expect(await served.finished).toMatchObject({ status: 0 })
    // It did not wait for the end that such a pattern is given.
    expect(await ended).not.toMatchObject({ code: 'tokenizer/invalid' })
  })
})

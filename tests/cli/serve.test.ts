import { afterAll, describe, expect, test } from 'vitest'
import type { Api } from '#shared/api/api.ts'
import { createClient } from '#shared/api/client.ts'
import { openWebSocketPort } from '#shared/api/webSocketPort.ts'
import { smallConfig, stepReached } from '../host/api/hostFixture.ts'
import { answer, createWorkplace, killGroup, linesOf, type Running } from './turnwise.ts'

const place = createWorkplace()
const running: Running[] = []

afterAll(() => {
  for (const each of running) if (each.child.exitCode === null) killGroup(each)
  place[Symbol.dispose]()
})

function serve(...args: string[]): Running {
  // A page in the window's place: no test builds into the checkout.
  place.write('window/index.html', '<!doctype html>')
  const started = place.start('serve', '--window', place.path('window'), ...args)
  running.push(started)
  return started
}

const addressOf = (url: string) => {
  const [origin = '', token = ''] = url.split('/#token=')
  return { origin, token }
}

describe('serve', () => {
  test('says where it can be used; Ctrl-C ends its runs with a checkpoint', async () => {
    const served = serve('--json')
    const text = await firstLine(served)
    const [{ url }] = linesOf(text) as [{ url: string }]
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]{32}$/)
    const { origin, token } = addressOf(url)
    expect((await fetch(origin)).status).toBe(200)
    const wrong = token.replace(/.$/, (last) => (last === '_' ? '-' : '_'))
    await expect(openWebSocketPort({ origin, token: wrong })).rejects.toMatchObject({
      code: 'api/refused',
    })

    const client = createClient<Api>(await openWebSocketPort({ origin, token }))
    const { runId } = await client.call('runs.start', { config: { ...smallConfig, steps: 5000 } })
    await stepReached(client, runId, 1)
    served.child.kill('SIGINT')
    const done = await served.finished
    expect(done).toMatchObject({ status: 0 })
    expect(done.stderr).toContain('Stopping a run after its current step; a checkpoint will be saved.')
    const shown = await place.run('runs', 'show', runId, '--json')
    const [run] = linesOf(shown.stdout) as [{ status: string; step: number; checkpoints: { step: number }[] }]
    expect(run.status).toBe('stopped')
    expect(run.checkpoints.at(-1)?.step).toBe(run.step)
  })

  test('serves a model to other programs until Ctrl-C', async () => {
    const served = serve('--openai', '--model', 'starter', '--threads', '1', '--json')
    const [{ address, key }] = linesOf(await firstLine(served, '"key"')) as [{ address: string; key: string }]
    const models = (token: string) =>
      fetch(`${address}/models`, { headers: { authorization: `Bearer ${token}` } })
    expect((await models('wrong')).status).toBe(401)
    // Runs that trained on it stand behind it.
    const { data } = (await (await models(key)).json()) as { data: { id: string }[] }
    expect(data[0]).toMatchObject({ id: 'starter' })
    served.child.kill('SIGINT')
    expect(await served.finished).toMatchObject({ status: 0 })
    await expect(models(key)).rejects.toThrow()

    const alone = await place.run('serve', '--openai')
    expect(alone).toMatchObject({ status: 2 })
    expect(alone.stderr).toContain('Options --openai and --model are given together.')
  })

  test('says it in words for people, and refuses a port that is taken', async () => {
    const served = serve()
    const text = await firstLine(served)
    expect(text).toMatch(/^Turnwise is served at http:/)
    const port = /127\.0\.0\.1:(\d+)/.exec(text)?.[1] ?? ''
    const refused = await place.run('serve', '--window', place.path('window'), '--port', port)
    expect(refused).toMatchObject({ status: 2, stdout: '' })
    expect(refused.stderr).toContain(`Port ${port} is in use by another program.`)
    served.child.kill('SIGINT')
    expect(await served.finished).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/Stopped\.\n$/) as string,
    })
  })

  test('is in the help', async () => {
    expect((await answer('help', 'serve')).stdout).toContain('--port')
  })
})

/** What was printed when the first line, which has the mark, was whole. */
async function firstLine(served: Running, mark = '#token='): Promise<string> {
  let text = ''
  served.child.stdout?.on('data', (piece: Buffer) => (text += piece.toString('utf8')))
  await served.printed(mark)
  return text
}

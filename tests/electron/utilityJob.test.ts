import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { deviceListJob } from '#host/jobs/deviceCheck.ts'
import { tokenizerJob } from '#host/models/textQuestion.ts'
import { trainingJob } from '#host/runs/trainingJob.ts'
import { utilityJobStarter } from '../../src/main/utilityJob.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-utility-'))
afterAll(() => rmSync(folder, { recursive: true }))

const channel = path.resolve('src/host/processes/hostChannel.ts')

/** A process that runs these lines, with `host` as its end of the line. */
function startScript(name: string, lines: string) {
  const [script, logFile] = [path.join(folder, `${name}.ts`), path.join(folder, `${name}.log`)]
  writeFileSync(
    script,
    `import { openHostChannel } from ${JSON.stringify(channel)}\nconst host = openHostChannel()\n${lines}`,
  )
  const worker = utilityJobStarter(script)(trainingJob, { logFile })
  const messages: unknown[] = []
  worker.onMessage((message) => messages.push(message))
  return { worker, messages, log: () => readFileSync(logFile, 'utf8') }
}

test('hears the last word of a process that ends right after it', async () => {
  const { worker, messages } = startScript(
    'last',
    `host.listen(async ({ type, order }) => {
      if (order.type !== 'stop') throw new Error('Heard ' + type)
      await host.report({ type: 'alive' })
      await host.report({ type: 'done' })
      process.exit(0)
    })`,
  )
  worker.send({ type: 'order', order: { type: 'stop' } })
  expect(await worker.ended).toEqual({ exitCode: 0, signal: null, failure: null })
  expect(messages).toEqual([{ type: 'alive' }, { type: 'done' }])
  expect(worker.pid).toBe(null)
  worker.send({ type: 'order', order: { type: 'stop' } })
  worker.kill()
})

test('writes all of its output down, the last of it too', async () => {
  const line = 'x'.repeat(1000)
  const { worker, log } = startScript(
    'output',
    `for (let i = 0; i < 30; i++) console.log(${JSON.stringify(line)})
    process.stdout.write('', () => process.stderr.write('the end\\n', () => process.exit(3)))`,
  )
  expect((await worker.ended).exitCode).toBe(3)
  expect(log().split(line)).toHaveLength(31)
  expect(log()).toContain('the end\n')
})

test('kills at once, also one that has only just been started and one that would rather stop gently', async () => {
  const stubborn = `process.on('SIGTERM', () => {}); host.listen(() => {}); void host.report({ type: 'alive' })`
  const [early, late] = [startScript('early', stubborn), startScript('late', stubborn)]
  early.worker.kill()
  await early.worker.ended
  await new Promise<void>((resolve) => late.worker.onMessage(() => resolve()))
  expect(late.worker.pid).toBeGreaterThan(0)
  late.worker.kill()
  await late.worker.ended
  expect(late.messages).toEqual([{ type: 'alive' }])
})

test('a process has the variables that it is given, on top of ours', async () => {
  const [script, logFile] = [path.join(folder, 'environment.ts'), path.join(folder, 'environment.log')]
  writeFileSync(
    script,
    `const { GIVEN, PATH, ORT_DISABLE_TELEMETRY } = process.env
    process.stdout.write([GIVEN, PATH, ORT_DISABLE_TELEMETRY].join(' '), () => process.exit())`,
  )
  await utilityJobStarter(script)(trainingJob, { logFile, environment: { GIVEN: 'given' } }).ended
  expect(readFileSync(logFile, 'utf8')).toContain(`given ${process.env['PATH'] ?? ''} 1`)
})

test('a log that cannot be written is an error at once', () => {
  expect(() => utilityJobStarter()(trainingJob, { logFile: path.join(folder, 'no', 'worker.log') })).toThrow(
    expect.objectContaining({ code: 'file/unwritable' }),
  )
})

test('a process for texts answers one question after the other, until it is ended', async () => {
  const text = utilityJobStarter()(tokenizerJob)
  const news: unknown[] = []
  const order = {
    ...({ type: 'tokenize', text: 'ab' } as const),
    directory: path.resolve('resources/starter'),
  }
  text.onMessage((message) => {
    news.push(message)
    if (news.length === 3) text.kill()
    else text.send({ type: 'order', order })
  })
  text.send({ type: 'start', input: null })
  await text.ended
  const answer = { type: 'item', item: { type: 'answer', answer: expect.arrayContaining([]) as unknown[] } }
  expect(news).toEqual([{ type: 'item', item: { type: 'ready' } }, answer, answer])
})

test('a process for questions answers and ends', async () => {
  const question = utilityJobStarter()(deviceListJob)
  const answers: unknown[] = []
  question.onMessage((message) => answers.push(message))
  question.send({ type: 'start', input: null })
  expect((await question.ended).exitCode).toBe(0)
  expect(answers).toEqual([
    {
      type: 'item',
      item: expect.objectContaining({ physicalCores: expect.any(Number) as number }) as object,
    },
    { type: 'done' },
  ])
})

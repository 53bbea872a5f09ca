/** Agents that the command starts: one that dies, and the example. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import { readEvents } from '#host/workFolder/eventLog.ts'
import { runPaths } from '#host/workFolder/runFolder.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const launcher = fileURLToPath(new URL('../../../bin/turnwise.mjs', import.meta.url))
const example = fileURLToPath(new URL('../../../examples/agents/agent.ts', import.meta.url))

/** Answers rows one after the other. The first that runs kills itself in the middle of its second session. */
const agent = `
import { existsSync, writeFileSync } from 'node:fs'
const [mark, address] = process.argv.slice(2)
const post = async (url, body) => {
  const headers = { authorization: \`Bearer \${process.env.TURNWISE_KEY}\` }
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(await answer.text())
  return answer.json()
}
if (mark === 'never') process.exit(3)
const isFirst = !existsSync(mark)
writeFileSync(mark, '')
let session = await post(address + '/sessions', {})
for (let count = 0; !session.over;) {
  if (session.id === null) { session = await post(address + '/sessions', {}); continue }
  await post(session.base_url + '/chat/completions', { model: 'policy', messages: [{ role: 'user', content: 'Say' }] })
  if (isFirst && ++count === 2) process.kill(process.pid, 'SIGKILL')
  session = await post(\`\${address}/sessions/\${session.id}/end\`, { reward: count, next: {} })
}
`

async function collected(script: string, ...args: string[]) {
  const folder = temporaryFolder()
  writeFileSync(path.join(folder, 'agent.mjs'), agent)
  const config = {
    model: path.join(resourcesDirectory, 'starter'),
    steps: 2,
    seed: 1,
    data: {
      train: path.join(resourcesDirectory, 'demo/train.jsonl'),
      heldOut: null,
      prompt: { column: 'prompt' },
    },
    rollout: { agent: { silenceSeconds: 2 }, promptsPerStep: 2, groupSize: 2, maxNewTokens: 4 },
  }
  writeFileSync(path.join(folder, 'run.json'), JSON.stringify(config))
  const home = path.join(folder, 'home')
  const words = ['collect', 'run.json', '--port', '0', '--data-dir', home]
  const command = [process.execPath, script, ...args]
  const run = spawn(process.execPath, [launcher, ...words, '--', ...command], { cwd: folder })
  let heard = ''
  for (const stream of [run.stdout, run.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (heard += text))
  await once(run, 'exit')
  const [id = ''] = readdirSync(path.join(home, 'runs'))
  return { heard, exitCode: run.exitCode, paths: runPaths(path.join(home, 'runs', id)) }
}

test('one that is killed in a session is started again, and the session counts as silent', async () => {
  const { heard, exitCode, paths } = await collected('agent.mjs', 'mark')
  expect(heard).toContain('The agent ended with signal SIGKILL and is started again.')
  expect(heard).toContain('Finished after 2 steps')
  expect(exitCode).toBe(0)
  expect(readEvents(paths.events, ['step']).map(({ step }) => step)).toEqual([1, 2])
  const [first] = readEvents(paths.events, ['step']).map(({ metrics }) => metrics as Record<string, number>)
  expect(first?.['workflow/failed_ratio']).toBeGreaterThanOrEqual(0.25)
  expect(JSON.stringify(readEvents(paths.events, ['samples']))).toContain(
    'The agent was silent for 2 seconds',
  )
})

test('one that ends no session ends the run in a sentence', async () => {
  const { heard, exitCode } = await collected('agent.mjs', 'never')
  expect(heard).toMatch(/The agent ended with status 3 before it had ended a session\. The run was stopped/)
  expect(heard).toMatch(/turnwise resume run_/)
  expect(exitCode).toBe(1)
})

test('the example earns rewards, and some of its sessions have a second turn', async () => {
  const { heard, exitCode, paths } = await collected(example)
  expect(heard).toContain('Finished after 2 steps')
  expect(exitCode).toBe(0)
  const metrics = readEvents(paths.events, ['step']).map(
    (event) => event['metrics'] as Record<string, number>,
  )
  const largest = (name: string) => Math.max(...metrics.map((each) => each[name] ?? 0))
  expect(largest('reward')).toBeGreaterThan(0)
  expect(largest('logged/agent/calls')).toBeGreaterThan(1)
})

/**
 * A host whose process is busy with what never ends: `node busyProcess.ts text|question|sandbox MODEL_FOLDER`. It says
 * the process's id.
 */
import { setTimeout } from 'node:timers/promises'
import { execFileSync } from 'node:child_process'
import { runConfigSchema } from '#shared/runConfig.ts'
import { openSandbox } from '#host/sandbox/sandbox.ts'
import { scoringJob } from '#host/jobs/textScoring.ts'
import { createAsk, jobStarter } from '#host/processes/job.ts'
import { TextProcesses } from '#host/models/textQuestion.ts'
import { starterConfig } from '../runs/runFixture.ts'

const [kind = '', directory = ''] = process.argv.slice(2)
const sample = { prompt: '', completion: `${'a'.repeat(60)}c`, row: {}, step: 0 }

const busy: Record<string, () => Promise<unknown>> = {
  async text() {
    const { ask } = new TextProcesses()
    await ask({ type: 'tokenize', directory, text: 'ab' })
    return ask({ type: 'tokenize', directory, text: 'a'.repeat(700) })
  },
  question() {
    const rewards = [{ function: 'format', settings: { pattern: '(a+)+b' } }]
    const parsed = { ...starterConfig, rewards, rewardLimits: { callMs: 60_000, batchMs: 60_000 } }
    const scoring = {
      config: runConfigSchema.parse(parsed),
      runDirectory: '.',
      cacheDirectory: '.',
      input: sample,
    }
    return createAsk(jobStarter())(scoringJob, scoring, new AbortController().signal).next()
  },
  async sandbox() {
    const code = 'export const endless = () => Array.prototype.join.call({ length: 2 ** 53 - 1 }, "").length'
    const sandbox = await openSandbox({ code, language: 'js' }, { callMs: 60_000, batchMs: 60_000 })
    return sandbox.score([sample], 'endless')
  },
}

void busy[kind]?.()
await setTimeout(4_000)
process.stdout.write(execFileSync('pgrep', ['-P', String(process.pid)], { encoding: 'utf8' }))

/** A process asked about a device whose driver does what TURNWISE_DEVICE says: crash or hang, in the test or after it. */
import { deviceTestJob } from '#host/jobs/deviceCheck.ts'
import type { FromJob } from '#host/processes/job.ts'

const plan = process.env['TURNWISE_DEVICE'] ?? ''
const say = (message: FromJob<unknown>) => process.send?.(message)
const stay = () => setInterval(() => undefined, 1000)
const finding = { name: 'operators/Add', passed: true, measured: 0, limit: 1, sentence: '' }

process.on('message', () => {
  const isTest = process.argv[2] === deviceTestJob.name
  if (isTest) say({ type: 'item', item: finding })
  else {
    say({ type: 'item', item: { on: 'cpu', parameters: 2e6 } })
    say({ type: 'item', item: { on: 'device', parameters: 2e6 } })
  }
  if (plan === `crash in ${isTest ? 'test' : 'speed'}`) process.kill(process.pid, 'SIGSEGV')
  else if (plan === `hang in ${isTest ? 'test' : 'speed'}`) stay()
  else {
    if (!isTest) say({ type: 'item', item: { speed: { parameters: 2e6, ratio: 3 } } })
    say({ type: 'done' })
    stay()
  }
})

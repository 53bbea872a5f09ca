import { expect, test } from 'vitest'
import { TextProcesses } from '#host/models/textQuestion.ts'
import { jobStarter } from '#host/processes/job.ts'
import type { WorkerProcess } from '#host/processes/messages.ts'

test('when all is over, questions that wait and later ones start no process', async () => {
  const processes: Pick<WorkerProcess<never, never>, 'ended'>[] = []
  const texts = new TextProcesses((job) => {
    const process = jobStarter()(job)
    processes.push(process)
    return process
  })
  const ask = (directory: string) => texts.ask({ type: 'tokenize', directory, text: 'One' })
  await ask('resources/starter')
  const waiting = [ask('resources/starter'), ask('resources/starter'), ask('resources/starter')]
  texts[Symbol.dispose]()
  const outcomes = await Promise.allSettled([...waiting, ask('resources/starter'), ask('resources/demo')])
  expect(outcomes.map(({ status }) => status)).toEqual(outcomes.map(() => 'rejected'))
  expect(outcomes.at(-1)).toMatchObject({ reason: { code: 'api/disconnected' } })
  expect(processes).toHaveLength(1)
  await processes[0]!.ended
})

import { expect, test } from 'vitest'
import { TextProcesses, textStarter } from '#host/models/textQuestion.ts'

test('when all is over, questions that wait and later ones start no process', async () => {
  const processes: ReturnType<typeof textStarter>[] = []
  const texts = new TextProcesses(() => {
    const process = textStarter()
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

import { appendFileSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { JudgeLog, judgeLogName } from '#host/judges/judgeLog.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const all = temporaryFolder()
const newFolder = () => mkdtempSync(path.join(all, 'run-'))
const answer = (score: number | null) => ({ score, text: `Score: ${score}` })
const usage = { promptTokens: 10, answerTokens: 2 }
const batch = (...questions: readonly string[]) =>
  new Map(questions.map((question, i) => [question, answer(i)]))

describe('what judges said', () => {
  test('is there again, by judge and question, with what it cost', () => {
    const folder = newFolder()
    {
      using log = new JudgeLog(folder)
      log.add('one', batch('a', 'b'), usage)
      log.add('two', new Map([['a', answer(null)]]), usage)
      log.add('one', batch('c'), usage)
      expect(log.find('one', 'b')).toEqual(answer(1))
    }
    using log = new JudgeLog(folder)
    expect(log.find('one', 'b')).toEqual(answer(1))
    expect(log.find('two', 'a')).toEqual(answer(null))
    expect(log.find('two', 'b')).toBeNull()
    expect(log.used('one')).toEqual({ promptTokens: 20, answerTokens: 4 })
  })

  test('loses a line that was cut short or damaged, and nothing else', () => {
    const folder = newFolder()
    const file = path.join(folder, judgeLogName)
    new JudgeLog(folder).add('one', batch('a'), usage)
    appendFileSync(file, 'not JSON\n{"judge":"one","answers"')
    {
      using log = new JudgeLog(folder)
      expect(log.find('one', 'a')).toEqual(answer(0))
      log.add('one', batch('b'), usage)
    }
    using log = new JudgeLog(folder)
    expect(log.find('one', 'a')).toEqual(answer(0))
    expect(log.find('one', 'b')).toEqual(answer(0))
  })

  test('is bounded: the oldest is forgotten, its cost is not', () => {
    const folder = newFolder()
    {
      using log = new JudgeLog(folder, { limit: 2 })
      for (const question of ['a', 'b', 'c', 'd', 'e']) log.add('one', batch(question), usage)
      expect(log.find('one', 'c')).toBeNull()
      expect(log.find('one', 'd')).toEqual(answer(0))
    }
    const before = readFileSync(path.join(folder, judgeLogName), 'utf8').length
    using log = new JudgeLog(folder, { limit: 2 })
    expect(readFileSync(path.join(folder, judgeLogName), 'utf8').length).toBeLessThan(before)
    log.add('one', batch('f'), usage)
    using again = new JudgeLog(folder, { limit: 2, isReadOnly: true })
    expect([again.find('one', 'd'), again.find('one', 'e'), again.find('one', 'f')]).toEqual([
      null,
      answer(0),
      answer(0),
    ])
    expect(again.used('one')).toEqual({ promptTokens: 60, answerTokens: 12 })
  })

  test('of another process is read and not touched', () => {
    const folder = newFolder()
    const file = path.join(folder, judgeLogName)
    writeFileSync(file, '{"judge":')
    using log = new JudgeLog(folder, { isReadOnly: true })
    log.add('one', batch('a'), usage)
    expect(log.find('one', 'a')).toEqual(answer(0))
    expect(readFileSync(file, 'utf8')).toBe('{"judge":')
    using nowhere = new JudgeLog(null)
    nowhere.add('one', batch('a'), usage)
    expect(nowhere.find('one', 'a')).toEqual(answer(0))
  })
})

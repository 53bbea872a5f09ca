/** Checkpoints that another program, or an earlier version, wrote. */
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readState, writeState } from '#host/workFolder/checkpointState.ts'
import {
  checkpointProblem,
  loadCheckpoint,
  saveCheckpoint,
  type Checkpoint,
} from '#host/models/checkpoints.ts'
import { createRunFolder, type RunFolder } from '#host/workFolder/runFolder.ts'
import { fallBackSentence, resolveCheckpoint, resolveResume } from '#host/runs/runTarget.ts'
import { exampleCheckpoint } from './exampleCheckpoint.ts'

let data: string
let run: RunFolder

beforeEach(() => {
  data = mkdtempSync(path.join(tmpdir(), 'turnwise-'))
  run = createRunFolder(data, {})
})

afterEach(() => {
  rmSync(data, { recursive: true })
})

const save = (checkpoint: Checkpoint) => saveCheckpoint(run.directory, checkpoint)
const critic = {
  adapter: exampleCheckpoint(77).actor,
  valueHead: { weight: Float32Array.of(1, -2, 3), bias: 0.25 },
}

/** As another program would write it that has other numbers. */
function sealAnew(directory: string): void {
  const { trainer, optimizerStep, events, reward, metrics } = readState(directory)
  rmSync(path.join(directory, 'state.json'))
  writeState(directory, { trainer, optimizerStep, events, reward, metrics })
}

describe('checkpoints', () => {
  test.each([
    ['actor/adapter_model.safetensors', 'actor'],
    ['reference/adapter_model.safetensors', 'reference'],
    ['critic/adapter_model.safetensors', 'critic'],
    ['critic/value_head.safetensors', 'value head'],
    ['optimizer.safetensors', 'moments'],
  ])('a number that is not finite is never read: %s', async (name) => {
    const whole = { ...exampleCheckpoint(1), critic }
    const sound = await save(whole)
    const { directory } = await save({ ...exampleCheckpoint(2), critic })
    const file = path.join(directory, name)
    const bytes = readFileSync(file)
    bytes.writeFloatLE(NaN, bytes.length - 4)
    writeFileSync(file, bytes)
    sealAnew(directory)
    const words = `${name} holds a value in`
    expect(() => loadCheckpoint(directory)).toThrow(words)
    expect(checkpointProblem(directory)).toContain('that is not a finite number')
    expect(() => resolveResume(data, directory)).toThrow(words)
    const target = resolveResume(data, run.id)
    expect(target.checkpoint).toEqual(sound)
    expect(fallBackSentence(target)).toContain(words)
    expect(resolveCheckpoint(data, run.id, 'last').directory).toBe(sound.directory)
    expect(loadCheckpoint(sound.directory)).toEqual(whole)
  })

  test('of the form before updates were compared with earlier ones still open', async () => {
    const saved = exampleCheckpoint(3)
    const { directory } = await save(saved)
    const { updateHistory: _, ...trainer } = saved.trainer
    const { sizeBytes: _size, ...state } = readState(directory)
    const document = { ...state, format: 2, trainer }
    const digest = createHash('sha256')
      .update(JSON.stringify(document, null, 2))
      .digest('hex')
    writeFileSync(path.join(directory, 'state.json'), `${JSON.stringify({ ...document, digest }, null, 2)}\n`)
    expect(loadCheckpoint(directory)).toEqual({
      ...saved,
      trainer: { ...trainer, updateHistory: { actor: [], critic: [], skipped: 0 } },
    })
    expect(checkpointProblem(directory)).toBeNull()
  })
})

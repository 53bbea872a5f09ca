import { describe, expect, test } from 'vitest'
import {
  choiceFor,
  dtypesOf,
  folderName,
  freeName,
  importName,
  isImportName,
  joinPath,
  placeIn,
  sizedDtypes,
} from '#renderer/parts/exportPlan.ts'

test('a folder is named by run, step and format, in letters every file system takes', () => {
  expect(folderName({ run: 'arith-grpo-1', step: 30, format: 'peft' })).toBe('arith-grpo-1-step-30-peft')
  expect(folderName({ run: 'grpo · seed 1 · ab12', step: 5, format: 'onnx' })).toBe(
    'grpo-seed-1-ab12-step-5-onnx',
  )
  expect(folderName({ run: '…/..', step: 0, format: 'gguf' })).toBe('run-step-0-gguf')
})

test('a format is asked only for what it knows', () => {
  const chosen = { dtype: 'f16', adapterInputs: true } as const
  expect(choiceFor('gguf', chosen)).toEqual({ format: 'gguf', dtype: 'f16', adapterInputs: false })
  expect(choiceFor('merged', chosen)).toEqual({ format: 'merged', dtype: null, adapterInputs: false })
  expect(choiceFor('onnx', chosen)).toEqual({ format: 'onnx', dtype: null, adapterInputs: true })
  expect(choiceFor('gguf', { dtype: 'usual', adapterInputs: false }).dtype).toBeNull()
  expect(dtypesOf('peft')).toEqual([])
})

test('a merged model is in the numbers of its base, of a GGUF file in f32', () => {
  const merged = { format: 'merged', problem: null } as const
  const stored = { dtype: null, bytes: 270e6 }
  expect(sizedDtypes({ ...merged, sizes: [stored, { dtype: 'f32', bytes: 540e6 }] })).toEqual([
    { value: 'usual', label: 'As in the base · 270 MB' },
    { value: 'f32', label: 'f32 · 540 MB' },
  ])
  expect(sizedDtypes({ ...merged, sizes: [{ dtype: null, bytes: 540e6 }] })).toEqual([
    { value: 'usual', label: 'f32 · 540 MB' },
  ])
})

test('a name that is taken gets a number that is not', () => {
  expect(freeName('a', [])).toBe('a')
  expect(freeName('a', ['a', 'a-2', 'b'])).toBe('a-3')
})

describe('paths', () => {
  test('are put together as the folder has it', () => {
    expect(joinPath('/home/x/', 'exports', 'a')).toBe('/home/x/exports/a')
    expect(joinPath('C:\\data', 'exports')).toBe('C:\\data\\exports')
  })
  test('of files are shown within the folder', () => {
    expect(placeIn('/out/a', '/out/a/README.md')).toBe('README.md')
    expect(placeIn('C:\\out', 'C:\\out\\x\\y.json')).toBe('x\\y.json')
    expect(placeIn('/out/a', 'README.md')).toBe('README.md')
  })
})

test('a model is called by its folder, as far as the list takes it', () => {
  expect(importName('Qwen2.5 0.5B (copy)')).toBe('Qwen2.5-0.5B-copy-')
  expect(importName('.hidden')).toBe('hidden')
  expect([importName('Qwen2.5 0.5B'), 'a'.repeat(101), '-x', ''].map(isImportName)).toEqual([
    true,
    false,
    false,
    false,
  ])
})

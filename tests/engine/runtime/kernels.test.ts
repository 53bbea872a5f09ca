/**
 * CUDA and DirectML run on no machine of the tests: the runtime's own tables of kernels say that every node of every program
 * has one there, and the same programs are computed on the CPU (reference.test.ts, wholePrograms.test.ts). The tables are
 * made by scripts/kernels.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { apply, input, type OpNode } from '#engine/graph/value.ts'
import { defineOp } from '#engine/ops/define.ts'
import { allKernels, familyShapes, kernelsOf } from '../../../scripts/kernels/programs.ts'
import { isCovered, type KernelRow } from '../../../scripts/kernels/table.ts'
import { isWhole, wholeTitle } from '../../sweeps.ts'

interface CudaTable {
  readonly runtime: string
  /** Where the provider placed a node of that signature. */
  readonly kernels: Readonly<Record<string, 'CUDA' | 'CPU'>>
  readonly models: Readonly<Record<string, { cuda: number; cpu: readonly string[]; copies: number }>>
}

const read = (file: string): unknown =>
  JSON.parse(readFileSync(path.join(import.meta.dirname, '../../fixtures/kernels', file), 'utf8'))
const cuda = read('cuda.json') as CudaTable
const directml = read('directml.json') as Readonly<Record<string, readonly KernelRow[]>>

const withoutCuda = (kernels: ReadonlyMap<string, OpNode>) =>
  [...kernels.keys()].filter((signature) => cuda.kernels[signature] !== 'CUDA')
const withoutDirectMl = (kernels: ReadonlyMap<string, OpNode>) =>
  [...kernels.keys()].filter((signature) => !isCovered(signature, directml[signature.split('(')[0]!] ?? []))

/** A node that neither has. */
function planted(): Map<string, OpNode> {
  const x = input('x', 'int8', ['N'])
  const [y] = apply(defineOp('Erf', 'none'), [x], {}, [x])
  return kernelsOf({ planted: { y: y! } })
}

describe('CUDA', () => {
  test('has a kernel for every node of every family', async () => {
    const kernels = await allKernels('cuda')
    expect(kernels.size).toBeGreaterThan(35)
    expect(withoutCuda(kernels)).toEqual([])
  })

  test('is found to lack one that it has not', () => {
    expect(withoutCuda(planted())).toEqual(['Erf(int8) → int8'])
    // The provider itself was asked too.
    expect(cuda.kernels['com.microsoft.MatMulIntegerToFloat(uint8, int8, float32, float32) → float32']).toBe(
      'CPU',
    )
  })

  // A new family need not be asked of again while its nodes have signatures that are in the table: see the first test.
  test('was asked with this runtime and of whole models, and only joins and adds lengths on the CPU', () => {
    const { version } = JSON.parse(readFileSync('node_modules/onnxruntime-node/package.json', 'utf8')) as {
      version: string
    }
    expect(cuda.runtime).toBe(version)
    expect(Object.keys(cuda.models).length).toBeGreaterThanOrEqual(12)
    expect(familyShapes).toEqual(expect.arrayContaining(Object.keys(cuda.models)))
    for (const { cuda: nodes, cpu } of Object.values(cuda.models)) {
      expect(nodes).toBeGreaterThan(3000)
      expect(cpu.filter((op) => op !== 'IntegerConcat' && op !== 'IntegerAdd')).toEqual([])
    }
  })

  test('copies what chooses the program between host and device, and nothing for each layer', () => {
    const copies = new Set(Object.values(cuda.models).map((model) => model.copies))
    expect(copies.size).toBe(1)
    expect([...copies][0]).toBeLessThan(20)
  })
})

describe('DirectML', () => {
  test.runIf(isWhole)(wholeTitle('has a kernel for every node of every family'), async () => {
    expect(withoutDirectMl(await allKernels('dml'))).toEqual([])
    expect(Object.keys(directml)).toContain('If')
  })

  test('is found to lack one that it has not, and runs no loop', () => {
    expect(withoutDirectMl(planted())).toEqual(['Erf(int8) → int8'])
    expect(Object.keys(directml)).not.toContain('Loop')
  })
})

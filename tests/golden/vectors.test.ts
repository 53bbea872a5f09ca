/**
 * Every numeric vector of this folder (or of GOLDEN_DIR) against our functions. Cases whose function does not exist
 * here are listed by name, not hidden.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { differences, type GoldenCase } from './contract.ts'
import { contracts, missing } from './contracts/registry.ts'

const directory = process.env['GOLDEN_DIR'] ?? import.meta.dirname
const cases = readdirSync(directory)
  .filter((file) => file.endsWith('.json'))
  .toSorted()
  .map((file) => JSON.parse(readFileSync(join(directory, file), 'utf8')) as GoldenCase)
const covered = cases.filter((golden) => contracts.has(golden.function))
const uncovered = cases.filter((golden) => !contracts.has(golden.function))

/** Functions named in the contract tables of the README. */
const described = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8')
  .split('\n')
  .flatMap((line) => [...(/^\| ((?:`[^`]+`(?:, )?)+) \|/.exec(line)?.[1] ?? '').matchAll(/`([a-z_0-9.]+)`/g)])
  .map((match) => match[1]!)
  .filter(
    (name) => !['name', 'source', 'function', 'dtype', 'commit', 'note', 'inputs', 'expected'].includes(name),
  )

describe('golden vectors', () => {
  test('the folder holds cases', () => {
    expect(cases.length).toBeGreaterThan(0)
  })

  test.each(covered.map((golden) => [golden.function, golden.name, golden] as const))(
    '%s · %s',
    async (_, __, golden) => {
      const contract = contracts.get(golden.function)!
      const answer = await contract.run(golden.inputs, golden)
      expect(differences(answer, golden.expected, contract.tolerance)).toEqual([])
    },
  )

  test('every function of the README is either here or named as missing', () => {
    expect([...contracts.keys(), ...missing].toSorted()).toEqual(described.toSorted())
  })

  test(`${uncovered.length} of ${cases.length} cases have no function here yet`, () => {
    const lines = uncovered.map((golden) => `  ${golden.function}: ${golden.name}`)
    if (lines.length > 0) console.info(`No function here yet for:\n${lines.join('\n')}`)
    expect(covered.map(({ function: name }) => name).filter((name) => missing.includes(name))).toEqual([])
  })
})

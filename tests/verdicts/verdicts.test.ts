/** Verdicts hold their level and intervals their coverage: as simulated here, and in the table of docs/algorithms/verdicts.md. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { casesOf, isLong, longTitle } from '../sweeps.ts'
import { hitsOf, repetitionsOf, type Simulated } from './simulation.ts'
import { headOf, simulatedVerdicts, verdictTable } from './table.ts'

const document = readFileSync(path.join(import.meta.dirname, '../../docs/algorithms/verdicts.md'), 'utf8')

/** `slack`: how far chance may take what is found. */
function expectHeld({ measure, bound }: Simulated, hits: number, slack = 0): void {
  if (measure === 'level') expect(hits).toBeLessThanOrEqual(bound + slack)
  else expect(hits).toBeGreaterThanOrEqual(bound - slack)
}

describe.each(simulatedVerdicts)('$claim, $about: $measure', (simulated) => {
  const { bound, cases } = simulated

  test('as simulated here, as far as so few repetitions can tell', () => {
    const repetitions = casesOf(100, 4000)
    const slack = 2.5 * Math.sqrt((bound * (1 - bound)) / repetitionsOf(simulated, repetitions))
    for (const hits of hitsOf(simulated, repetitions)) expectHeld(simulated, hits, slack)
  })

  test('in the table, without slack', () => {
    const row = document.split('\n').find((line) => line.startsWith(headOf(simulated)))
    const found = [...(row ?? '').slice(headOf(simulated).length).matchAll(/([^;|]+): ([\d.]+)/g)]
    expect(found.map(([, name]) => name?.trim())).toEqual(cases.map(({ name }) => name))
    for (const [, , hits] of found) expectHeld(simulated, Number(hits))
  })
})

test.runIf(isLong)(longTitle('the table is what the command above it prints'), () => {
  expect(document).toContain(verdictTable(2000))
})

import { ofEvaluations } from './evaluations.ts'
import { betweenRuns, betweenSeeds, others } from './runs.ts'
import { hitsOf, type Simulated } from './simulation.ts'

/** Every verdict and interval that the product gives of rewards and other numbers. */
export const simulatedVerdicts: readonly Simulated[] = [
  ...betweenRuns,
  ...betweenSeeds,
  ...ofEvaluations,
  ...others,
]

/** What a row of the table begins with; a claim stands in the first of its rows. */
export function headOf(simulated: Simulated): string {
  const { claim, about, measure } = simulated
  const isSame = simulatedVerdicts[simulatedVerdicts.indexOf(simulated) - 1]?.claim === claim
  return `${isSame ? '|' : `| ${claim}`} | ${about} | ${measure} | `
}

/** As Markdown. */
export function verdictTable(repetitions: number): string {
  const rows = simulatedVerdicts.map((simulated) => {
    const hits = hitsOf(simulated, repetitions)
    const found = simulated.cases.map(({ name }, i) => `${name}: ${(hits[i] ?? NaN).toFixed(3)}`)
    return `${headOf(simulated)}${found.join('; ')} |`
  })
  return ['| Verdict or interval | Simulated | Measure | Found |', '|---|---|---|---|', ...rows].join('\n')
}

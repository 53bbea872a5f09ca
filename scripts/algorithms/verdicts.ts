/**
 * How sure every verdict and interval is, as the table in docs/algorithms/verdicts.md, by simulation:
 *
 *   node scripts/algorithms/verdicts.ts [REPETITIONS]
 */
import { verdictTable } from '../../tests/verdicts/table.ts'

console.log(verdictTable(Number(process.argv[2] ?? 2000)))

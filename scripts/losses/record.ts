/**
 * Writes what PyTorch says of 500 losses made up at random: `TURNWISE_PYTHON=… node scripts/losses/record.ts`.
 * Those that PyTorch cannot compute in finite numbers are left out.
 */
import { writeFileSync } from 'node:fs'
import { randomLoss, randomRows } from '../../tests/host/losses/randomLosses.ts'
import {
  inTorch,
  isFinite,
  recordedFile,
  recordedRows,
  summaryOf,
} from '../../tests/host/losses/torchLosses.ts'

const losses = Array.from({ length: 560 }, (_, seed) => randomLoss(seed))
const answers = inTorch(losses, randomRows(recordedRows))
const kept = answers
  .map((torch, i) => ({ js: losses[i]?.js, torch }))
  .filter(({ torch }) => isFinite(torch))
  .slice(0, 500)
  .map(({ js, torch }) => `${JSON.stringify({ js, torch: summaryOf(torch) })}\n`)
writeFileSync(recordedFile, kept.join(''))
console.log(`${kept.length} losses in ${recordedFile}`)

/** Python with peft, where the machine has it. */
import { execFileSync } from 'node:child_process'

export const python = process.env['TURNWISE_PYTHON'] ?? 'python3'

export function hasPeft(): boolean {
  try {
    execFileSync(python, ['-c', 'import peft, transformers'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

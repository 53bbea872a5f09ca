/** Python where the machine has it: `python3`, or the program named by TURNWISE_PYTHON. */
import { spawnSync } from 'node:child_process'

export const interpreter = process.env['TURNWISE_PYTHON'] ?? 'python3'

/** Whether it is there, new enough, and has these modules. */
export const hasPython = (...modules: readonly string[]): boolean =>
  spawnSync(
    interpreter,
    [
      '-c',
      ['import sys; assert sys.version_info >= (3, 9)', ...modules.map((name) => `import ${name}`)].join(
        '\n',
      ),
    ],
    { timeout: 100_000 },
  ).status === 0

/**
 * The order of test files. One that takes a minute and comes last has a core to itself, whatever else there is; so the longest come first,
 * and a fresh clone, which has no times of an earlier run, knows them from here. `npm test` ends with those that it found.
 */
import path from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Below tests/, without `.test.ts`: what takes more than twenty seconds of a processor. */
export const longest = [
  'host/runs/mainDoor',
  'host/studies/members',
  'device/webgpu',
  'electron/package',
  'host/runs/killed',
  'host/files/movedDirectory',
  'engine/runtime/reference',
  'host/workflows/workflowsService',
  'host/losses/runs',
  'host/studies/studies',
  'scripts/walks',
  'host/processes/runtimeEnvironment',
  'isolation/network',
  'host/workflows/killed',
  'cli/training',
  'host/evaluations/workflows',
  'engine/runtime/roundedBase',
  'host/workflows/gallery',
  'host/remote/remoteTraining',
  'cli/populationKilled',
  'library/package',
  'engine/runtime/halfBase',
  'host/sandbox/attacks',
  'host/remote/remotePolicy',
  'engine/runtime/wholePrograms',
  'electron/training',
  'host/runs/supervisor',
  'host/runs/runs',
  'host/evaluations/evaluations',
  'cli/evaluate',
  'library/script',
  'host/remote/remoteFaults',
]

const root = path.join(import.meta.dirname, '../../tests')

/** Where a file stands among the longest; behind them all where it is none of them. */
function rank({ moduleId }: TestSpecification): number {
  const at = longest.indexOf(path.relative(root, moduleId).replace(/\.test\.ts$/, ''))
  return at === -1 ? longest.length : at
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return sorted.toSorted((a, b) => rank(a) - rank(b))
  }
}

/**
 * The order of test files. One that takes a minute and comes last has a core to itself, whatever else there is; so the longest come first,
 * and a fresh clone, which has no times of an earlier run, knows them from here. `npm test` ends with those that it found.
 */
import path from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Below tests/, without `.test.ts`: what takes more than fifteen seconds of a processor. */
export const longest = [
  'device/webgpu',
  'host/runs/mainDoor',
  'host/processes/busyMachine',
  'host/studies/members',
  'engine/runtime/reference',
  'host/runs/killed',
  'engine/runtime/roundedBase',
  'device/rehearsal',
  'electron/package',
  'host/sandbox/attacks',
  'cli/training',
  'host/runs/settingChanges',
  'cli/hostileModels',
  'host/losses/runs',
  'engine/runtime/wholePrograms',
  'isolation/network',
  'host/workflows/gallery',
  'host/remote/remoteTraining',
  'cli/populationKilled',
  'host/workflows/killed',
  'host/runs/queue',
  'host/files/movedDirectory',
  'scripts/walks',
  'host/workflows/workflowsService',
  'host/processes/runtimeEnvironment',
  'scripts/deviceBench',
  'library/script',
  'host/evaluations/workflows',
  'host/runs/supervisor',
  'engine/runtime/halfBase',
  'host/checks/selftest',
  'engine/runtime/deviceParameters',
  'host/python/names',
  'cli/studies',
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

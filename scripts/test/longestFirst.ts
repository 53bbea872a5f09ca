/**
 * The order of test files. One that takes a minute and comes last has a core to itself, whatever else there is; so the longest come first,
 * and a fresh clone, which has no times of an earlier run, knows them from here. `npm test` ends with those that it found.
 */
import path from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Below tests/, without `.test.ts`: what takes more than ten seconds of a processor in the whole run. First those of processes of their
 * own, as a process that others share ends where one of them is next; of the others first those that take as long in every run.
 */
export const longest = [
  'device/webgpu',
  'engine/runtime/roundedBase',
  'device/rehearsal',
  'host/processes/busyMachine',
  'isolation/network',
  'electron/package',
  'library/package',
  'host/remote/remotePolicy',
  'cli/mcp/mcp',
  'host/studies/studies',
  'host/runs/killed',
  'engine/runtime/reference',
  'cli/training',
  'library/script',
  'host/workflows/killed',
  'host/runs/runs',
  'host/runs/hostKilled',
  'electron/training',
  'host/sandbox/attacks',
  'host/runs/supervisor',
  'host/runs/mainDoor',
  'scripts/walks',
  'host/studies/members',
  'host/processes/runtimeEnvironment',
  'cli/populationKilled',
  'engine/runtime/wholePrograms',
  'host/workflows/gallery',
  'host/files/movedDirectory',
  'host/losses/runs',
  'host/python/names',
  'host/runs/queue',
  'host/python/rewards',
  'scripts/fuzz',
  'host/export/llamaCpp',
  'engine/runtime/halfBase',
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

import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './scripts/test/longestFirst.ts'
import { runtimeEnvironment } from './src/shared/runtimeEnvironment.ts'

const golden = ['tests/golden/**/*.test.ts']

/** Tests of functions: no processes, no native code, no module replaced by another, nothing of the process that a test changes. */
const pure = ['tests/{renderer,rl,shared}/**/!(gradientCheck).test.ts']

/** Where a module takes the place of another, which only Vite's imports can do. */
const replacing = ['tests/rl/losses/gradientCheck.test.ts', 'tests/host/checks/tf32.test.ts']

/** Files that measure their process, or leave something in it that others would notice. */
const alone = [
  'tests/{device,host/remote,isolation}/**/*.test.ts',
  'tests/**/{*[mM]emory,roundedBase,longSequences,learningPrograms,kernels,denormals,templateWork,processorTime}.test.ts',
  'tests/host/devices/libraries.test.ts',
  'tests/host/files/permissions.test.ts',
  // Of denormal numbers, which a session makes its thread take for zero.
  'tests/host/{files/safetensors,files/float16,models/weightCache,runs/oddRuns}.test.ts',
  'tests/host/processes/busyMachine.test.ts',
]

/** What is built: the desktop app, without the program it runs in (a fake of `electron` in its place), and the npm package. */
const electron = ['tests/electron/**/*.test.ts', 'tests/library/package.test.ts']
const fakeElectron = fileURLToPath(new URL('tests/electron/fakeElectron.ts', import.meta.url))

// Test files run beside each other; threads of one would wait for those of another. What is about threads sets them.
process.env['OMP_NUM_THREADS'] ??= '1'

// Tests load ONNX Runtime too, and start processes that do.
Object.assign(process.env, runtimeEnvironment)

// What other programs keep on a developer's machine is no part of a test.
process.env['TURNWISE_FOUND_MODELS'] ??= '0'

// Processes of ours that tests start begin faster with it, as those that the launcher starts do.
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(new URL('node_modules/.cache/turnwise', import.meta.url))

/** Node reads the sources as it does in the product, with its cache of compiled code. */
const asInProduct = { experimental: { viteModuleRunner: false, nodeLoader: false } }

/** Where a machine-readable report goes too, for scripts that count tests. */
const report = process.env['TURNWISE_TEST_REPORT']

export default defineConfig({
  test: {
    // Most files share processes, whose start would take longer than the tests (`isolate`).
    environment: 'node',
    maxWorkers: availableParallelism() + 1, // many tests wait for processes and the disk
    sequence: { sequencer: LongestFirst },
    pool: 'forks', // a native crash ends one test file, not the run
    // Guards against what hangs; how long a test takes is nothing that it says.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 600_000 } },
    setupFiles: ['tests/removedFolders.ts'],
    reporters: report ? ['default', ['json', { outputFile: report }]] : ['default'],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['tests/**/*.test.ts'],
          exclude: [...golden, ...electron, ...pure, ...replacing, ...alone],
          ...asInProduct,
          isolate: false,
          globalSetup: 'tests/builtProgram.ts',
          setupFiles: ['tests/keptSessions.ts', 'tests/keptSandboxes.ts'],
        },
      },
      {
        extends: true,
        test: { name: 'alone', include: alone, ...asInProduct, globalSetup: 'tests/builtProgram.ts' },
      },
      { extends: true, test: { name: 'pure', include: pure, isolate: false } },
      {
        extends: true,
        resolve: { alias: { electron: fakeElectron } },
        test: { name: 'electron', include: electron, globalSetup: 'tests/electron/buildOnce.ts' },
      },
      { extends: true, test: { name: 'replacing', include: replacing, setupFiles: 'tests/keptSessions.ts' } },
      // Reference numbers, read from GOLDEN_DIR.
      { extends: true, test: { name: 'golden', include: golden } },
    ],
  },
})

import { mergeConfig } from 'vite'
import { defineConfig } from 'electron-vite'
import { rendererConfig } from './vite.renderer.config.ts'

/**
 * `index` is the desktop app, `cli` the host without a window, `turnwise` what scripts and programs import, `jobProcess`
 * the process of a job (a run that trains, an evaluation, a served model), `sandboxProcess` that of user code,
 * `replicaThread` a learning thread; all but the first run under plain Node as well. Everything lands in out/main itself, chunks included, so that a path relative to a
 * module means the same in all.
 * The preload script is one file: in its sandbox it can load nothing but electron.
 */
export default defineConfig({
  main: {
    build: {
      rolldownOptions: {
        input: {
          index: 'src/main/index.ts',
          cli: 'src/cli/main.ts',
          turnwise: 'src/library/turnwise.ts',
          jobProcess: 'src/host/jobs/process/jobProcess.ts',
          sandboxProcess: 'src/host/sandbox/sandboxProcess.ts',
          replicaThread: 'src/engine/runtime/replicaThread.ts',
        },
        output: { format: 'es', entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' },
      },
    },
  },
  preload: {
    build: {
      externalizeDeps: false,
      rolldownOptions: {
        input: { index: 'src/preload/index.ts' },
        output: { format: 'cjs', entryFileNames: '[name].cjs' },
      },
    },
  },
  // Paths of the page's own configuration start at its folder, here at the project's.
  renderer: mergeConfig(rendererConfig, {
    build: { outDir: 'out/renderer', rolldownOptions: { input: 'src/renderer/index.html' } },
  }),
})

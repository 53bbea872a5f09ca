import { defineConfig } from 'electron-vite'

/**
 * `cli` is the host without a window, `trainingProcess` the process of one run, `questionProcess` that of one
 * question, `sandboxProcess` that of user code; all run under plain Node as well.
 * Everything lands in out/main itself, chunks included, so that a path relative to a module means the same in all.
 */
export default defineConfig({
  main: {
    build: {
      rolldownOptions: {
        input: {
          cli: 'src/cli/main.ts',
          trainingProcess: 'src/host/workers/trainingProcess.ts',
          questionProcess: 'src/host/workers/questionProcess.ts',
          sandboxProcess: 'src/host/sandbox/sandboxProcess.ts',
        },
        output: { format: 'es', entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' },
      },
    },
  },
})

import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig, type UserConfig } from 'vite'

/** The window's page: the same files for Electron and for a browser. */
export const rendererConfig: UserConfig = {
  root: 'src/renderer',
  base: '/',
  plugins: [react(), tailwindcss()],
  // The host puts the nonce of each response in its place; libraries that add styles at run time read it.
  html: { cspNonce: '__TURNWISE_NONCE__' },
  worker: { format: 'es' },
  build: {
    outDir: '../../out/renderer',
    emptyOutDir: true,
    minify: true,
    target: 'chrome140',
    assetsInlineLimit: 0,
    // Polyfills and preloads by inline scripts would break the policy of the page.
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 4000,
  },
}

export default defineConfig(rendererConfig)

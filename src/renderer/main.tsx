/**
 * The window. Reading guide: `connection.ts` reaches the host, `hooks/` ask it and listen to it, `components/base` are
 * the pieces everything is built of, `components/frame` what surrounds a page, `screens/` the pages, listed in
 * `screens/registry.ts`; `theme.css` holds the look.
 */
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { setNonce } from 'get-nonce'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './App.tsx'
import { TooltipProvider } from './components/base/Tooltip.tsx'
import { connect, followToken, takeToken } from './connection.ts'
import { ApiProvider } from './hooks/api.tsx'
import { codeOf } from './hooks/failures.ts'
import { tellConnection } from './hooks/live.ts'
import { styleNonce } from './nonce.ts'
import { startTheme } from './theme.ts'
import './theme.css'

startTheme()
setNonce(styleNonce())
takeToken()
followToken()

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // A lost connection is worth another try; an error in words is the answer.
      retry: (count, error) => codeOf(error) === 'api/disconnected' && count < 20,
      retryDelay: 500,
      refetchOnWindowFocus: false,
      networkMode: 'always',
    },
  },
})
const client = connect(tellConnection)

const root = document.getElementById('root')
if (root === null) throw new Error('Expected a place for the page.')
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <ApiProvider client={client}>
        <TooltipProvider>
          <App />
        </TooltipProvider>
      </ApiProvider>
    </QueryClientProvider>
  </StrictMode>,
)

/**
 * The window. Reading guide: `client/` talks to the host, `kit/` has the components everything is built of,
 * `features/` the pages, a folder each, `frame/` what surrounds a page, with the list of screens
 * (`frame/screens.ts`); `theme.css` holds the look.
 */
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { setNonce } from 'get-nonce'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from '#renderer/frame/App.tsx'
import { TooltipProvider } from '#renderer/kit/Tooltip.tsx'
import { connect, followToken, takeToken } from '#renderer/client/connection.ts'
import { ApiProvider } from '#renderer/client/api.tsx'
import { codeOf } from '#renderer/client/toasts.ts'
import { tellConnection } from '#renderer/client/live.ts'
import { styleNonce, startTheme } from '#renderer/client/theme.ts'
import './theme.css'

startTheme()
setNonce(styleNonce())
takeToken()
followToken()

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // Retries after a lost connection; any other error is the answer.
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

import { contentId } from '#renderer/kit/Page.tsx'

/** First on the page for who comes by keyboard: past the places, to what the screen shows. The address is the route's. */
export const SkipLink = () => (
  <button
    type="button"
    className="sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-50 focus:rounded focus:border focus:border-accent focus:bg-bg focus:px-3 focus:py-1.5"
    onClick={() => document.getElementById(contentId)?.focus()}
  >
    Skip to the content
  </button>
)

/** Which browser journeys are driven in. */
import { existsSync } from 'node:fs'

// First the one without windows of its own, which does less.
const places = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]

/** The one that the variable CHROMIUM names, or the system's own; undefined: Playwright's. */
export const systemBrowser = (): string | undefined =>
  process.env['CHROMIUM'] ?? places.find((place) => existsSync(place))

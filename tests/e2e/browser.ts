/** Which browser journeys are driven in. */
import { existsSync } from 'node:fs'

// Without a window of its own Chromium takes a quarter less of the processor.
const places = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]

/** The one that the variable CHROMIUM names, or the system's own; undefined: Playwright's. */
export const systemBrowser = (): string | undefined =>
  process.env['CHROMIUM'] ?? places.find((place) => existsSync(place))

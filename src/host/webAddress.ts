/** Addresses that a person gives for what is fetched from. */

/** An address that may be asked, without a slash at its end: https, or http to this very machine. null: neither. */
export function webAddress(given: string): string | null {
  const url = URL.parse(given)
  const isSafe =
    url !== null && (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.href)))
  return isSafe ? url.href.replace(/\/+$/, '') : null
}

export const isLoopback = (address: string): boolean =>
  /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(new URL(address).hostname)

/** Addresses of servers in settings. */

// Without the flag `u`, by which two letters beyond ASCII would be cases of K and S.
const beginning = /^https?:\/\/(?:\[[\da-f:.]+\]|[\w.-]+)(?::\d+)?(?=[/?#]|$)/i
const unsafe = /[\s\\\p{C}]/u

/**
 * Parses the address of a server, the only way in which settings give one; null for any other form. What programs read differently is
 * refused, since it could lead elsewhere than was allowed: names and passwords, blanks, backslashes, zones, hosts in letters beyond ASCII.
 */
export const webUrl = (text: string): URL | null =>
  beginning.test(text) && !unsafe.test(text) ? URL.parse(text) : null

export const isWebAddress = (text: string): boolean => webUrl(text) !== null

/** Form of address that a setting expects, in words. */
export const webAddressWords =
  'an address that begins with http:// or https://, without a name or password, its host in ASCII'

const loopbackHosts = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/

export const isOnThisMachine = (address: string): boolean =>
  loopbackHosts.test(URL.parse(address)?.hostname ?? '')

/** Lists all addresses of a run's rollout servers: a single one needs no list. */
export const serverUrls = ({ url }: { readonly url: string | readonly string[] }): readonly string[] =>
  typeof url === 'string' ? [url] : url

/** Addresses of servers in settings. */
export const isWebAddress = (text: string): boolean => /^https?:$/.test(URL.parse(text)?.protocol ?? '')

const loopbackHosts = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/

export const isOnThisMachine = (address: string): boolean =>
  loopbackHosts.test(URL.parse(address)?.hostname ?? '')

/** Lists all addresses of a run's rollout servers: a single one needs no list. */
export const serverUrls = ({ url }: { readonly url: string | readonly string[] }): readonly string[] =>
  typeof url === 'string' ? [url] : url

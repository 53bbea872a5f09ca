/** Addresses of servers in settings. */
export const isWebAddress = (text: string): boolean => /^https?:$/.test(URL.parse(text)?.protocol ?? '')

const loopbackHosts = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/

/** Whether requests to the address stay on this machine. */
export const isOnThisMachine = (address: string): boolean =>
  loopbackHosts.test(URL.parse(address)?.hostname ?? '')

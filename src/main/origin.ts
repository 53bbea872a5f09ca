/** Where the window's page comes from: a scheme of our own, so that it has an origin that nobody else can have. */

export const appScheme = 'turnwise'
export const appOrigin = `${appScheme}://app`
export const appPage = `${appOrigin}/`

export const isOwnUrl = (url: string): boolean => url === appOrigin || url.startsWith(appPage)

/** What of a message's sender says whether to trust it. */
export interface Sender {
  readonly senderFrame: { readonly url: string; readonly parent: unknown } | null
}

/** Only the page itself: no frame inside of it, no page that came from elsewhere. */
export const isOwnPage = ({ senderFrame }: Sender): boolean =>
  senderFrame !== null && senderFrame.parent === null && isOwnUrl(senderFrame.url)

/** The hub that is asked when the settings name none. */
export const defaultHub = 'https://huggingface.co'

/** Mark that clients read instead of a stored `hub.token`; the token itself is never sent to them. */
export const storedMark = '•••'

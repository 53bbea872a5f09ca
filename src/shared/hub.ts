/** The hub that is asked when the settings name none. */
export const defaultHub = 'https://huggingface.co'

/** What clients read of the setting `hub.token` where a token is stored: no one is told the token itself. */
export const storedMark = '•••'

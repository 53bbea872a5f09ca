export const defaultHub = 'https://huggingface.co'

/** Placeholder that clients read instead of a stored `hub.token`; the token itself is never sent to them. */
export const storedMark = '•••'

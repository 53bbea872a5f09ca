/** The hub that is asked when the settings name none. */
export const defaultHub = 'https://huggingface.co'

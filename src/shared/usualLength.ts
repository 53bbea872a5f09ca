/** Tokens that a completion may have where nobody says otherwise. */
export const usualNewTokens = 256

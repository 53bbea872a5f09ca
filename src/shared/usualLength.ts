/** Tokens that a completion may have where nobody says otherwise. */
export const usualNewTokens = 256

/** At most a quarter of the model’s context at once: the prompt needs room as well. */
export const fittingNewTokens = (contextLength: number, wanted: number = usualNewTokens): number =>
  Math.max(1, Math.min(wanted, Math.floor(contextLength / 4)))

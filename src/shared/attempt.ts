/** Returns what an action returns, or the other value if it throws. */
export function attempt<T, const Otherwise>(action: () => T, otherwise: Otherwise): T | Otherwise {
  try {
    return action()
  } catch {
    return otherwise
  }
}

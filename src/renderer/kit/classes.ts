/** Class names put together; empty ones left out. */
export const classes = (...names: readonly (string | false | null | undefined)[]): string =>
  names.filter(Boolean).join(' ')

/** A list or the like with what belongs to it beside it; below it where there is no room. */
export const besideClasses =
  'flex min-h-0 min-w-0 grow narrow:flex-col narrow:overflow-auto narrow:*:shrink-0'

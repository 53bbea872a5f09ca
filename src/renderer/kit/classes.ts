/** Joins class names, skipping empty ones. */
export const classes = (...names: readonly (string | false | null | undefined)[]): string =>
  names.filter(Boolean).join(' ')

/** Content with a side panel, which moves below it in a narrow window. */
export const besideClasses =
  'flex min-h-0 min-w-0 grow narrow:flex-col narrow:overflow-auto narrow:*:shrink-0'

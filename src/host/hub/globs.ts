/**
 * Paths by a pattern with `*` and `?` (within a name) and `**` (any folders). Not a regular expression: the patterns come
 * with what is fetched, and one can be built to take for ever.
 */

/** Whether a path fits a pattern; both with `/`. Takes at most their lengths multiplied. */
export function fitsGlob(path: string, pattern: string): boolean {
  const parts = path.split('/')
  const wanted = pattern.replace(/^\.?\//, '').split('/')
  // fits[i]: the first i parts of the path fit what was read of the pattern.
  let fits = parts.map(() => false)
  fits.unshift(true)
  for (const part of wanted) fits = part === '**' ? anyFolders(fits) : oneName(fits, parts, part)
  return fits.at(-1) === true
}

function anyFolders(fits: readonly boolean[]): boolean[] {
  const first = fits.indexOf(true)
  return fits.map((_, at) => first >= 0 && at >= first)
}

const oneName = (fits: readonly boolean[], parts: readonly string[], pattern: string): boolean[] =>
  fits.map((_, at) => at > 0 && fits[at - 1] === true && fitsName(parts[at - 1] ?? '', pattern))

/** Goes back to the last star only: what an earlier one could take, the last one can take as well. */
function fitsName(name: string, pattern: string): boolean {
  let [at, in_] = [0, 0]
  let star: { readonly in_: number; at: number } | null = null
  while (at < name.length) {
    if (pattern[in_] === '*') star = { in_: in_++, at }
    else if (pattern[in_] === '?' || pattern[in_] === name[at]) [at, in_] = [at + 1, in_ + 1]
    else if (star !== null) [at, in_] = [++star.at, star.in_ + 1]
    else return false
  }
  return /^\**$/.test(pattern.slice(in_))
}

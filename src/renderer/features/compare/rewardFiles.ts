/** The rewards of a run: where their code lies and what it is. */

export interface RewardFile {
  /** Path of the file; the id of a built-in one. */
  readonly file: string
  /** Digest of code or settings, as the run noted it; the file where it noted none. */
  readonly digest: string
}

/** By name, as charts have it. `digests`: of the run's manifest. */
export function rewardFiles(
  config: string,
  digests: Readonly<Record<string, string>>,
): ReadonlyMap<string, RewardFile> {
  const parsed = JSON.parse(config) as {
    readonly rewards?: readonly { readonly function?: unknown; readonly name?: unknown }[]
  }
  return new Map(
    (parsed.rewards ?? []).flatMap(({ function: id, name }) => {
      if (typeof id !== 'string') return []
      const called = typeof name === 'string' ? name : nameOf(id)
      const file = id.replace(/(\.[cm]?[jt]s)#.+$/, '$1')
      return [[called, { file, digest: digests[called] ?? file }] as const]
    }),
  )
}

/** Behind #, or the last part of the path without its ending. */
const nameOf = (id: string): string =>
  /\.[cm]?[jt]s#(.+)$/.exec(id)?.[1] ?? id.replace(/^.*[\\/]/, '').replace(/\.[cm]?[jt]s$/, '')

/** Blind votes and what they say. */

export interface Vote {
  /** Contenders as `writeChoice` writes them. */
  readonly contenders: readonly string[]
  /** Index of the better one; null: none is. */
  readonly winner: number | null
  /** Whether the names were hidden. */
  readonly isBlind: boolean
  readonly prompt: string
  readonly seed: number
  /** Epoch ms. */
  readonly at: number
}

export interface Standing {
  readonly contender: string
  readonly wins: number
  readonly ties: number
  readonly losses: number
  /** Share of votes won, a tie counting half. */
  readonly winRate: number
  /** 95 % interval of it. */
  readonly interval: readonly [low: number, high: number]
}

/** Wilson's interval for a share; Wilson 1927, doi:10.2307/2276774. */
export function wilson(share: number, count: number): readonly [number, number] {
  if (count === 0) return [0, 1]
  const z = 1.96
  const center = share + (z * z) / (2 * count)
  const spread = z * Math.sqrt((share * (1 - share) + (z * z) / (4 * count)) / count)
  const scale = 1 + (z * z) / count
  return [Math.max(0, (center - spread) / scale), Math.min(1, (center + spread) / scale)]
}

/** The best first. Only blind votes count: a name sways. */
export function standings(votes: readonly Vote[]): readonly Standing[] {
  const counts = new Map<string, { wins: number; ties: number; losses: number }>()
  for (const { contenders, winner } of votes.filter(({ isBlind }) => isBlind)) {
    contenders.forEach((contender, i) => {
      const count = counts.get(contender) ?? { wins: 0, ties: 0, losses: 0 }
      if (winner === null) count.ties += 1
      else if (winner === i) count.wins += 1
      else count.losses += 1
      counts.set(contender, count)
    })
  }
  return [...counts]
    .map(([contender, count]) => {
      const total = count.wins + count.ties + count.losses
      const winRate = (count.wins + count.ties / 2) / total
      return { contender, ...count, winRate, interval: wilson(winRate, total) }
    })
    .sort((a, b) => b.winRate - a.winRate)
}

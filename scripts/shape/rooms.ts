/** Folders as rooms and their imports as arrows: which run back up, and how large a circle they make. */
import type { SourceFile } from './source.ts'

export interface Rooms {
  readonly rooms: number
  /** Pairs of rooms one of which imports the other. */
  readonly arrows: number
  /** Arrows against the order that has fewest of them, found by moving rooms one by one. */
  readonly up: number
  /** Imports that such arrows stand for. */
  readonly importsUp: number
  /** Rooms of the largest circle; 1: there is none. */
  readonly largestCycle: number
}

type Weights = ReadonlyMap<string, ReadonlyMap<string, number>>

/** Under a folder such as `src/host`; loose files are rooms of their own. */
export function roomsOf(files: readonly SourceFile[], folder: string): Rooms {
  const roomOf = (file: string): string | undefined =>
    file.startsWith(`${folder}/`) ? file.slice(folder.length + 1).split('/')[0] : undefined
  const weights = new Map<string, Map<string, number>>()
  for (const { path, imports } of files) {
    const from = roomOf(path)
    if (from === undefined) continue
    const targets = weights.get(from) ?? new Map<string, number>()
    weights.set(from, targets)
    for (const name of imports) {
      const to = roomOf(name)
      if (to !== undefined && to !== from) targets.set(to, (targets.get(to) ?? 0) + 1)
    }
  }
  const order = bestOrder(weights)
  const back = [...weights].flatMap(([from, targets]) =>
    [...targets].filter(([to]) => order.indexOf(to) > order.indexOf(from)),
  )
  return {
    rooms: weights.size,
    arrows: weights.values().reduce((sum, { size }) => sum + size, 0),
    up: back.length,
    importsUp: back.reduce((sum, [, weight]) => sum + weight, 0),
    largestCycle: Math.max(0, ...circlesOf(weights).map(({ length }) => length)),
  }
}

/** Rooms from the ground up. Each is moved to where it has fewest imports against the order, until no move gains anything. */
function bestOrder(weights: Weights): string[] {
  const weightOf = (from: string, to: string): number => weights.get(from)?.get(to) ?? 0
  const outward = (room: string): number =>
    weights
      .get(room)
      ?.values()
      .reduce((sum, n) => sum + n, 0) ?? 0
  let order = [...weights.keys()].sort((a, b) => outward(a) - outward(b) || (a < b ? -1 : 1))
  for (let hasGained = true; hasGained;) {
    hasGained = false
    for (const room of [...order]) {
      const rest = order.filter((other) => other !== room)
      const costs = rest.reduce(
        (all, other) => [...all, (all.at(-1) ?? 0) + weightOf(other, room) - weightOf(room, other)],
        [0],
      )
      const [now, best] = [order.indexOf(room), costs.indexOf(Math.min(...costs))]
      if ((costs[best] ?? 0) >= (costs[now] ?? 0)) continue
      order = rest.toSpliced(best, 0, room)
      hasGained = true
    }
  }
  return order
}

/** Rooms that reach each other (Tarjan, 1972). */
function circlesOf(weights: Weights): string[][] {
  const [numbers, lows] = [new Map<string, number>(), new Map<string, number>()]
  const stack: string[] = []
  const circles: string[][] = []
  const visit = (room: string): void => {
    numbers.set(room, numbers.size)
    lows.set(room, numbers.get(room) ?? 0)
    stack.push(room)
    for (const next of weights.get(room)?.keys() ?? []) {
      if (!numbers.has(next)) visit(next)
      if (stack.includes(next)) lows.set(room, Math.min(lows.get(room) ?? 0, lows.get(next) ?? 0))
    }
    if (lows.get(room) === numbers.get(room)) circles.push(stack.splice(stack.indexOf(room)))
  }
  for (const room of weights.keys()) if (!numbers.has(room)) visit(room)
  return circles
}

/** Files that one has to load to understand one, itself included. */
export function closureOf(
  files: readonly SourceFile[],
  start: string,
  by: 'imports' | 'loads' = 'imports',
): SourceFile[] {
  const byPath = new Map(files.map((file) => [file.path, file]))
  const reached = new Set([start])
  for (const name of reached) for (const next of byPath.get(name)?.[by] ?? []) reached.add(next)
  return files.filter(({ path }) => reached.has(path))
}

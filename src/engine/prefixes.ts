/**
 * Tokens that sequences have in common from their start. What a decoder computes of a token depends only on the tokens
 * before it, so a common prefix, such as the prompt of a group, is learned from and scored once for all that begin with it.
 */
import type { Routes, TokenSequence } from './policy.ts'

/** Tokens of a sequence that lead to a prediction: up to its last action. */
export const usedLength = ({ actionMask }: TokenSequence): number => actionMask.lastIndexOf(1) + 1

/** Tokens that lead to the first action: the prompt. */
const promptLength = ({ actionMask }: TokenSequence): number => actionMask.indexOf(1) + 1

/** Used tokens of both before the first that differs, or goes through other experts. */
export function commonPrefix(a: TokenSequence, b: TokenSequence): number {
  const end = Math.min(usedLength(a), usedLength(b))
  let at = 0
  while (at < end && a.ids[at] === b.ids[at] && compareRoutes(a.routes, b.routes, at) === 0) at++
  return at
}

function compareRoutes(a: Routes | undefined, b: Routes | undefined, token: number): number {
  if (!a || !b) return Number(hasRoute(a, token)) - Number(hasRoute(b, token))
  for (let at = token * a.width; at < (token + 1) * a.width; at++) {
    const difference = (a.experts[at] ?? -1) - (b.experts[at] ?? -1)
    if (difference !== 0) return difference
  }
  return 0
}

const hasRoute = (routes: Routes | undefined, token: number): boolean =>
  routes !== undefined && token * routes.width < routes.experts.length

/** The rows that each sequence's used tokens stand in when every distinct prefix has one row. */
export interface PrefixTree {
  /** Number of rows in all. */
  readonly tokens: number
  /** Row of each used token, one array per sequence. */
  readonly paths: readonly Int32Array[]
  /** Position from which on a sequence has rows that none before it has. */
  readonly own: Int32Array
}

/** Lays the used tokens of sequences down one after the other; `shares`: those in common with an earlier one only once. */
export function prefixTree(sequences: readonly TokenSequence[], shares: boolean): PrefixTree {
  const own = new Int32Array(sequences.length)
  const paths: Int32Array[] = []
  let tokens = 0
  sequences.forEach((sequence, row) => {
    const path = new Int32Array(usedLength(sequence))
    for (let earlier = 0; shares && earlier < row; earlier++) {
      const common = commonPrefix(sequences[earlier]!, sequence)
      if (common <= own[row]!) continue
      own[row] = common
      path.set(paths[earlier]!.subarray(0, common))
    }
    for (let at = own[row]!; at < path.length; at++) path[at] = tokens++
    paths.push(path)
  })
  return { tokens, paths, own }
}

/** A sequence by its index, and the tokens it shares with the one before it in its family. */
export interface FamilyMember {
  readonly row: number
  readonly common: number
}

/** Sequences whose prompts agree in at least this share of the shorter one are one family. */
const LEAST_COMMON = 0.5

/**
 * Sequences that are best computed together, since they begin alike; within a family in the order of their ids, so that
 * any that stand side by side have as many distinct tokens as their lengths less what each shares with the one before.
 * Families in the order of their first sequences.
 */
export function prefixFamilies(sequences: readonly TokenSequence[]): FamilyMember[][] {
  const order = [...sequences.keys()].sort((a, b) => compareIds(sequences[a]!, sequences[b]!) || a - b)
  const families: FamilyMember[][] = []
  order.forEach((row, index) => {
    const [sequence, before] = [sequences[row]!, sequences[order[index - 1] ?? row]!]
    const common = index === 0 ? 0 : commonPrefix(before, sequence)
    const prompt = Math.min(promptLength(before), promptLength(sequence))
    if (common > 0 && common >= LEAST_COMMON * prompt) families.at(-1)!.push({ row, common })
    else families.push([{ row, common: 0 }])
  })
  const first = (family: readonly FamilyMember[]) => Math.min(...family.map(({ row }) => row))
  return families.sort((a, b) => first(a) - first(b))
}

function compareIds(a: TokenSequence, b: TokenSequence): number {
  const [length, common] = [usedLength(a) - usedLength(b), commonPrefix(a, b)]
  const isPrefix = common === Math.min(usedLength(a), usedLength(b))
  if (isPrefix) return length
  return a.ids[common]! - b.ids[common]! || compareRoutes(a.routes, b.routes, common)
}

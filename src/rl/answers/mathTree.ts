/** A mathematical expression as a tree. */
import type { Rational } from './rational.ts'

export interface NumberTree {
  readonly kind: 'number'
  readonly value: Rational
  /** One unit in the last place of a decimal; null for a whole number. */
  readonly place: Rational | null
}

export interface SymbolTree {
  readonly kind: 'symbol'
  readonly name: string
}

/** An operation or a function; one with an unknown name has no value, but equals itself. */
export interface ApplyTree {
  readonly kind: 'apply'
  readonly name: string
  readonly of: readonly MathTree[]
}

/** Values with commas between. */
export interface GroupTree {
  readonly kind: 'group'
  /** Opening bracket; empty where nothing stands around the values. */
  readonly open: '' | '(' | '[' | '{'
  readonly close: '' | ')' | ']' | '}'
  readonly items: readonly MathTree[]
}

export interface MatrixTree {
  readonly kind: 'matrix'
  /** True for a determinant, which LaTeX writes as a vmatrix. */
  readonly isDeterminant: boolean
  readonly rows: readonly (readonly MathTree[])[]
}

/** `sides` with `operators` between: one operator less. */
export interface RelationTree {
  readonly kind: 'relation'
  readonly operators: readonly string[]
  readonly sides: readonly MathTree[]
}

export type MathTree = NumberTree | SymbolTree | ApplyTree | GroupTree | MatrixTree | RelationTree

export const apply = (name: string, ...of: readonly MathTree[]): ApplyTree => ({ kind: 'apply', name, of })
export const symbol = (name: string): SymbolTree => ({ kind: 'symbol', name })

export function childrenOf(tree: MathTree): readonly MathTree[] {
  if (tree.kind === 'apply') return tree.of
  if (tree.kind === 'group') return tree.items
  if (tree.kind === 'relation') return tree.sides
  return tree.kind === 'matrix' ? tree.rows.flat() : []
}

export const holds = (tree: MathTree, isSought: (part: MathTree) => boolean): boolean =>
  isSought(tree) || childrenOf(tree).some((child) => holds(child, isSought))

export const isApply = (tree: MathTree, name: string): tree is ApplyTree =>
  tree.kind === 'apply' && tree.name === name

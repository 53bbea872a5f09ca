/** Notes of an import on single settings. */

export type ImportNote = {
  /** left-out: in the file and not taken over; filled-in: the other tool's default; changed: taken over, but not quite the same. */
  readonly kind: 'left-out' | 'filled-in' | 'changed'
  /** The tool's name of the setting; Turnwise's if its value was filled in. */
  readonly name: string
  readonly text: string
}

/** A setting of ours and the names in the file that gave its value. */
export interface TakenSetting {
  readonly ours: string
  readonly value: unknown
  readonly theirs: readonly string[]
}

import type { LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'
import { Button } from './Button.tsx'

/** Something that can be done, as a button, an item of a menu or the main action of a dialog. */
export interface Action {
  readonly label: string
  readonly icon?: LucideIcon | undefined
  /** Shortcut as displayed. */
  readonly keys?: string
  readonly title?: string | undefined
  /** Sentence on its effect, below the label. */
  readonly about?: string | undefined
  /** State of something that is switched on and off. */
  readonly checked?: boolean
  readonly isDisabled?: boolean
  readonly isDangerous?: boolean
  readonly run: () => void
}

interface ActionButton extends Action {
  /** Accessible name, where the label does not say of which of several things. */
  readonly name?: string
  /** True for the one main action of a page. */
  readonly isMain?: boolean
  readonly iconSize?: number
}

interface ActionsProps {
  /** False: not offered now. */
  readonly actions: readonly (ActionButton | false)[]
  readonly small?: boolean
  readonly variant?: 'plain' | 'quiet'
}

/** A button for each action, in their order. */
export const Actions = ({ actions, small = false, variant = 'plain' }: ActionsProps): ReactNode =>
  actions
    .filter((action) => action !== false)
    .map(({ label, name, icon, iconSize, title, isMain, isDisabled, run }) => (
      <Button
        key={label}
        {...{ small, icon, title }}
        {...(iconSize === undefined ? {} : { iconSize })}
        variant={isMain === true ? 'primary' : variant}
        aria-label={name}
        disabled={isDisabled}
        onClick={run}
      >
        {label}
      </Button>
    ))

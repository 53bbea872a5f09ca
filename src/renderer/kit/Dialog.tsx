import { X } from 'lucide-react'
import { AlertDialog, Dialog as Radix } from 'radix-ui'
import type { ReactNode } from 'react'
import type { Action } from './actions.tsx'
import { Button, IconButton } from './Button.tsx'
import { classes } from './classes.ts'

const veil = 'fixed inset-0 z-40 bg-[rgb(0_0_0/0.45)] animate-appear'
const box =
  'fixed top-[calc(50%-var(--notices)/2)] left-1/2 z-40 flex max-h-[calc(100vh-56px-var(--notices))] max-w-[calc(100vw-48px)] -translate-x-1/2 -translate-y-1/2 flex-col rounded border border-line bg-bg shadow-float outline-none animate-appear'

interface DialogAction extends Partial<Pick<Action, 'icon' | 'isDisabled' | 'run'>> {
  readonly label: ReactNode
  /** Id of the form that it submits, in place of `run`. */
  readonly form?: string
}

export interface DialogProps {
  /** Default: true, for dialogs that are mounted only while they are open. */
  readonly isOpen?: boolean
  readonly onClose: () => void
  readonly title: string
  /** One sentence below the title. */
  readonly description?: ReactNode
  /** Pixels. Default: 480. */
  readonly width?: number
  /** Main action, beside a button that leaves everything as it is. */
  readonly action?: DialogAction
  /** Content left of the two. */
  readonly aside?: ReactNode
  /** Buttons at the bottom in place of these, the main one last. */
  readonly actions?: ReactNode
  readonly children?: ReactNode
}

export function Dialog(props: DialogProps) {
  const { isOpen = true, onClose, title, description, width = 480, action, aside, children } = props
  const actions = props.actions ?? (action && <Answers {...{ action, aside, onClose }} />)
  return (
    <Radix.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className={veil} />
        <Radix.Content
          data-modal=""
          onOpenAutoFocus={focusFirstField}
          className={box}
          style={{ width }}
          {...(description === undefined ? { 'aria-describedby': undefined } : {})}
        >
          <header className="flex items-start gap-3 border-b border-line px-4 py-3">
            <div className="min-w-0 grow">
              <Radix.Title className="text-lg font-semibold">{title}</Radix.Title>
              {description !== undefined && (
                <Radix.Description className="text-muted text-pretty">{description}</Radix.Description>
              )}
            </div>
            <Radix.Close asChild>
              <IconButton label="Close" icon={X} />
            </Radix.Close>
          </header>
          {children !== undefined && <div className="min-h-0 grow overflow-auto p-4">{children}</div>}
          {actions !== undefined && (
            <footer className="flex flex-wrap items-center justify-end gap-2 border-t border-line px-4 py-3">
              {actions}
            </footer>
          )}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}

const Answers = ({
  action,
  aside,
  onClose,
}: Pick<DialogProps, 'aside' | 'onClose'> & { action: DialogAction }) => (
  <>
    {aside}
    <span className="ml-auto flex gap-2">
      <Button onClick={onClose}>Cancel</Button>
      <Button
        variant="primary"
        icon={action.icon}
        disabled={action.isDisabled}
        {...(action.form === undefined ? { onClick: action.run } : { type: 'submit', form: action.form })}
      >
        {action.label}
      </Button>
    </span>
  </>
)

/**
 * Puts the focus into the first field, so that typing can start at once; without one, on the dialog: the tooltip of a focused
 * Close would take the first Escape.
 */
function focusFirstField(event: Event): void {
  if (!(event.target instanceof HTMLElement)) return
  const field = event.target.querySelector<HTMLElement>(
    'input:not(:disabled), textarea, select, button[aria-haspopup=dialog]', // the last: a picker
  )
  const focused = field ?? event.target
  event.preventDefault()
  focused.focus()
}

export interface ConfirmDialogProps {
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly title: string
  readonly children: ReactNode
  /** Verb and object: “Delete run”. */
  readonly action: string
  readonly onConfirm: () => void
  readonly isDangerous?: boolean
  /** True while the consequences are still being looked up. */
  readonly isDisabled?: boolean
}

/** Asks for confirmation of an irreversible action; the safe answer has the focus. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const {
    isOpen,
    onClose,
    title,
    children,
    action,
    onConfirm,
    isDangerous = true,
    isDisabled = false,
  } = props
  return (
    <AlertDialog.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Overlay className={veil} />
        <AlertDialog.Content className={classes(box, 'w-120')}>
          <div className="min-h-0 overflow-auto p-4">
            <AlertDialog.Title className="text-lg font-semibold">{title}</AlertDialog.Title>
            <AlertDialog.Description asChild>
              <div className="mt-2 text-muted text-pretty">{children}</div>
            </AlertDialog.Description>
          </div>
          <footer className="flex justify-end gap-2 border-t border-line px-4 py-3">
            <AlertDialog.Cancel asChild>
              <Button>Cancel</Button>
            </AlertDialog.Cancel>
            <AlertDialog.Action asChild>
              <Button variant={isDangerous ? 'danger' : 'primary'} disabled={isDisabled} onClick={onConfirm}>
                {action}
              </Button>
            </AlertDialog.Action>
          </footer>
        </AlertDialog.Content>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  )
}

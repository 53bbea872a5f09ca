import { ChevronDown, ListPlus, Play } from 'lucide-react'
import { keyTable } from '#shared/keyTable.ts'
import { keyWords } from '#renderer/client/keyWords.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { Menu } from '#renderer/kit/Menu.tsx'

interface StartButtonsProps {
  /** Checked with the settings as they are now. */
  readonly isChecked: boolean
  /** The host finds nothing wrong. */
  readonly isValid: boolean
  readonly isChecking: boolean
  readonly isStarting: boolean
  /** The check, or the start once it is done. */
  readonly onMain: () => void
  readonly onStart: (options: { readonly queue: boolean }) => void
}

/** One main action: the check, then the start; the other ways behind an arrow. */
export function StartButtons({
  isChecked,
  isValid,
  isChecking,
  isStarting,
  onMain,
  onStart,
}: StartButtonsProps) {
  const isBusy = isChecking || isStarting
  const words = isChecking ? 'Checking' : isStarting ? 'Starting' : isChecked ? 'Start run' : 'Check'
  return (
    <div className="flex">
      <Button
        variant="primary"
        disabled={!isValid || isBusy}
        onClick={onMain}
        title={isChecked ? undefined : 'Tries one real group; then the run can start.'}
        className="rounded-r-none"
      >
        {words}
        <kbd className="font-sans text-sm opacity-80">{keyWords(keyTable.act.keys[0] ?? '')}</kbd>
      </Button>
      <Menu
        groups={[
          [
            {
              label: isChecked ? 'Start now' : 'Start without checking',
              icon: <Play size={14} aria-hidden />,
              disabled: !isValid || isBusy,
              onSelect: () => onStart({ queue: false }),
            },
            {
              label: isChecked ? 'Put in the queue' : 'Put in the queue without checking',
              icon: <ListPlus size={14} aria-hidden />,
              disabled: !isValid || isBusy,
              onSelect: () => onStart({ queue: true }),
            },
          ],
        ]}
      >
        <Button
          variant="primary"
          aria-label="Other ways to start"
          disabled={!isValid || isBusy}
          icon={<ChevronDown size={14} aria-hidden />}
          className="rounded-l-none border-l-bg px-1.5"
        />
      </Menu>
    </div>
  )
}

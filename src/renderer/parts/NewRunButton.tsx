import { ChevronDown } from 'lucide-react'
import { studyKinds } from '#shared/studies.ts'
import { goToNewRun, navigate } from '#renderer/client/route.ts'
import { Button, type ButtonProps } from '#renderer/kit/Button.tsx'
import { Menu } from '#renderer/kit/Menu.tsx'
import { kindTitles, kindWords } from './studyWords.ts'

/** Sets up a run; the arrow beside it, a study of several. */
export function NewRunButton({ variant = 'plain' }: Pick<ButtonProps, 'variant'>) {
  return (
    <div className="flex">
      <Button variant={variant} onClick={goToNewRun} className="rounded-r-none">
        New run
      </Button>
      <Menu
        groups={[
          [{ label: kindTitles.run, run: () => navigate('/new-run', { kind: 'run' }) }],
          studyKinds.map((kind) => ({
            label: kindTitles[kind],
            title: kindWords[kind],
            run: () => navigate('/new-run', { kind }),
          })),
        ]}
      >
        <Button
          variant={variant}
          aria-label="Choose what to start"
          icon={ChevronDown}
          className={
            variant === 'primary' ? 'rounded-l-none border-l-bg px-1.5' : 'rounded-l-none border-l-0 px-1.5'
          }
        />
      </Menu>
    </div>
  )
}

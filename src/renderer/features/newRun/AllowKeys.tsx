import type { Problem } from '#shared/errors.ts'
import { KeyRound } from 'lucide-react'
import { askAboutKeys } from '#renderer/client/keyQuestion.ts'
import { Button } from '#renderer/kit/Button.tsx'

/** Asks whether a problem's keys may be sent: permission is all that it needs. */
export const AllowKeys = ({ keys }: { readonly keys: NonNullable<Problem['keys']> }) => (
  <Button small icon={KeyRound} iconSize={14} onClick={() => askAboutKeys(keys)}>
    Allow…
  </Button>
)

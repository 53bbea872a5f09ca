import {
  ArrivedDialog,
  DeleteDialog,
  NewRewardDialog,
  RenameDialog,
  type Beginning,
} from './LibraryDialogs.tsx'
import type { GalleryEntry, Reward } from './types.ts'

interface RewardDialogsProps {
  readonly rewards: readonly Reward[]
  readonly gallery: readonly GalleryEntry[]
  readonly dialogs: {
    readonly open: 'new' | 'rename' | 'delete' | null
    /** What rename and delete are about. */
    readonly target: Reward | null
    /** Code that was dropped into the window. */
    readonly arrived: { readonly name: string; readonly code: string } | null
    readonly isBusy: boolean
    readonly close: () => void
    readonly create: (beginning: Beginning) => void
    readonly deleted: () => void
  }
}

/** Whichever dialog of the library is open. */
export function RewardDialogs({ rewards, gallery, dialogs }: RewardDialogsProps) {
  const { open, target, arrived, isBusy, close, create, deleted } = dialogs
  if (arrived !== null)
    return (
      <ArrivedDialog key={arrived.name} file={arrived} isBusy={isBusy} onClose={close} onCreate={create} />
    )
  if (open === 'new') {
    const taken = rewards.map(({ name }) => name)
    return (
      <NewRewardDialog gallery={gallery} taken={taken} isBusy={isBusy} onClose={close} onCreate={create} />
    )
  }
  if (target === null) return null
  if (open === 'rename') return <RenameDialog key={target.id} reward={target} onClose={close} />
  return open === 'delete' ? (
    <DeleteDialog key={target.id} reward={target} onClose={close} onDeleted={deleted} />
  ) : null
}

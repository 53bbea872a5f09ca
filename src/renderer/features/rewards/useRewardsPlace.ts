/** The place of rewards as a whole: what is open, and making, copying, renaming and deleting. */
import { useEffect, useMemo, useState } from 'react'
import type { Beginning } from './LibraryDialogs.tsx'
import type { LibraryActions } from './Library.tsx'
import { findGalleryEntry } from './library.ts'
import { freeName } from './testForm.ts'
import type { Reward } from './types.ts'
import { useArrivals } from '#renderer/client/adding.ts'
import { useAnswer, useApi } from '#renderer/client/api.tsx'
import { asError } from '#renderer/client/failures.ts'
import { useDraftIds, useRewardLibrary } from './useRewards.ts'
import { navigate, useRoute } from '#renderer/client/route.ts'
import { useSetting } from '#renderer/client/settings.ts'
import { toastError } from '#renderer/client/toasts.ts'

type OpenDialog = 'new' | 'rename' | 'delete' | null

export function useRewardsPlace() {
  const { path } = useRoute()
  const library = useRewardLibrary()
  const { rewards, gallery } = library
  const [remembered, remember] = useSetting<string | null>('rewards.open', null)
  const known = (key: string | null | undefined): boolean =>
    key !== null &&
    key !== undefined &&
    (rewards.some(({ id }) => id === key) || findGalleryEntry(key, gallery) !== undefined)
  const asked = path[1] ?? null
  // What was open last stands there again, by its address: another window may open something else meanwhile.
  const last = asked === null && known(remembered) ? remembered : null
  const selected = asked ?? last
  const opened = asked !== null && known(asked) ? asked : null
  useEffect(() => {
    if (last !== null) navigate(`/rewards/${encodeURIComponent(last)}`, {}, { replace: true })
  }, [last])
  useEffect(() => {
    if (opened !== null && opened !== remembered) remember(opened)
  }, [opened, remembered, remember])

  const [open, setOpen] = useState<OpenDialog>(null)
  const [targetId, setTargetId] = useState<string | null>(null)
  const arrived = useArrivals((state) => state.reward)
  const making = useMakeReward(rewards)
  const { data: models } = useAnswer('models.list', undefined)

  const close = () => {
    setOpen(null)
    useArrivals.setState({ reward: null })
  }
  const create = (beginning: Beginning) => {
    void making.make(beginning).then((isMade) => isMade && close())
  }
  const ask = (dialog: OpenDialog) => (rewardId: string) => {
    setTargetId(rewardId)
    setOpen(dialog)
  }
  const actions: LibraryActions = {
    create: () => setOpen('new'),
    duplicate: (key) => {
      const entry = findGalleryEntry(key, gallery)
      const own = rewards.find(({ id }) => id === key)
      if (own !== undefined) void making.duplicate(own)
      else if (entry !== undefined && entry.code !== null && entry.language !== null) {
        const { kind, title, language, code, examples } = entry
        void making.make({ kind, language, code, name: title, note: `Copy of “${title}”`, tests: examples })
      }
    },
    rename: ask('rename'),
    remove: ask('delete'),
  }
  return {
    ...library,
    selected,
    drafts: useDraftIds(),
    models: useMemo(
      () => (models ?? []).flatMap((model) => ('problem' in model ? [] : [model.name])),
      [models],
    ),
    actions,
    dialogs: {
      ...{ open, arrived, close, create, isBusy: making.isBusy },
      target: rewards.find(({ id }) => id === targetId) ?? null,
      deleted: () => {
        close()
        remember(null)
        navigate('/rewards')
      },
    },
  }
}

/** Makes a reward with its first version and its tests, and opens it. */
function useMakeReward(rewards: readonly Reward[]) {
  const client = useApi()
  const [isBusy, setBusy] = useState(false)
  const make = async ({ kind, name, language, code, note, tests }: Beginning): Promise<boolean> => {
    setBusy(true)
    try {
      const taken = rewards.map((reward) => reward.name)
      const { id: rewardId } = await client.call('rewards.create', { kind, name: freeName(name, taken) })
      await client.call('rewards.save', { rewardId, language, code, note })
      if (tests.length > 0) await client.call('rewards.setTests', { rewardId, tests })
      navigate(`/rewards/${rewardId}`)
      return true
    } catch (thrown) {
      toastError(asError(thrown))
      return false
    } finally {
      setBusy(false)
    }
  }
  const duplicate = async ({ id: rewardId, kind, name }: Reward): Promise<void> => {
    try {
      const [newest] = await client.call('rewards.versions', { rewardId })
      const tests = await client.call('rewards.tests', { rewardId })
      const { language, code } = newest ?? { language: 'ts' as const, code: '' }
      await make({ kind, language, code, tests, name: `${name} copy`, note: `Copy of “${name}”` })
    } catch (thrown) {
      toastError(asError(thrown))
    }
  }
  return { isBusy, make, duplicate }
}

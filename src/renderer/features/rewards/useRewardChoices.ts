/** Rewards and environments as configs name them: their settings, and the files of library and gallery. */
import { useCallback } from 'react'
import type { ChoiceSource } from '#renderer/parts/rewardChoice.ts'
import type { GalleryEntry } from '#renderer/parts/rewardTypes.ts'
import { copyOf, createReward } from './useRewards.ts'
import { useAnswer, useApi } from '#renderer/client/api.tsx'
import { asError, toastError } from '#renderer/client/toasts.ts'

const noFunctions: readonly string[] = []

/** Returns the options of a config entry: settings and functions of its code, and its versions. */
export function useChoiceSettings(source: ChoiceSource) {
  const { rewardId, version, isOwn, usual } = askedOf(source)
  const versions = useAnswer('rewards.versions', { rewardId }, { enabled: isOwn })
  const check = useAnswer('rewards.check', { code: { rewardId, version } }, { enabled: isOwn, keep: true })
  const found = check.data !== undefined && 'settings' in check.data ? check.data : null
  return {
    versions: versions.data ?? [],
    functions: found?.functions ?? noFunctions,
    known: (isOwn ? found?.settings : usual) ?? {},
  }
}

function askedOf(source: ChoiceSource) {
  if (source.kind === 'own')
    return { isOwn: true, rewardId: source.reward.id, version: source.hash, usual: null }
  const usual = source.kind === 'builtin' ? source.entry.settings : null
  return { isOwn: false, rewardId: '', version: '', usual }
}

/** Finds or creates the file that a config names; null on failure, which was reported. */
export function useAddChoice() {
  const client = useApi()
  const newestFile = useCallback(
    async (rewardId: string): Promise<string | null> => {
      const [newest] = await client.call('rewards.versions', { rewardId })
      return newest?.file ?? null
    },
    [client],
  )
  const told = (thrown: unknown): null => {
    toastError(asError(thrown))
    return null
  }
  return {
    addOwn: useCallback((rewardId: string) => newestFile(rewardId).catch(told), [newestFile]),
    /** Copies gallery code into a custom reward, with its examples as tests. */
    addCopy: useCallback(
      async (entry: GalleryEntry): Promise<string | null> => {
        const copy = copyOf(entry)
        if (copy === null) return null
        return createReward(client, copy).then(({ file }) => file, told)
      },
      [client],
    ),
  }
}

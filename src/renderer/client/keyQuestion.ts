/** The question whether keys may be sent, which any refused action asks. */
import { create } from 'zustand'
import { KeysError, type KeyUse } from '#shared/errors.ts'

interface KeyQuestion {
  /** Empty while no question is open. */
  readonly keys: readonly KeyUse[]
}

export const useKeyQuestion = create<KeyQuestion>(() => ({ keys: [] }))

export const askAboutKeys = (keys: readonly KeyUse[]): void => useKeyQuestion.setState({ keys })

/** Opens the question if the error is about keys. */
export function askWhereRefused(error: Error): void {
  if (error instanceof KeysError) askAboutKeys(error.keys)
}

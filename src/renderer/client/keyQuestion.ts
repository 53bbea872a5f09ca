/** The question whether keys may be sent, which any refused action asks. */
import { create } from 'zustand'
import { KeysError, type KeyUse } from '#shared/errors.ts'

export const useKeyQuestion = create<{ readonly keys: readonly KeyUse[] }>(() => ({ keys: [] }))

export const askAboutKeys = (keys: readonly KeyUse[]): void => useKeyQuestion.setState({ keys })

export function askWhereRefused(error: Error): void {
  if (error instanceof KeysError) askAboutKeys(error.keys)
}

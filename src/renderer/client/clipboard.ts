import { toastError } from './toasts.ts'

/** Copies a text, then calls back; if the browser refuses, a notice says what to do instead. */
export async function copyText(text: string, onCopied: () => void): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
  } catch {
    toastError(
      new Error(
        'The browser did not let this window copy. Select the text and copy it with the keyboard, or allow the clipboard for this address.',
      ),
    )
    return
  }
  onCopied()
}

/** Short notices at the foot of the window: actions that can be undone, and failures. */
import { create } from 'zustand'
import { AppError } from '#shared/errors.ts'

export interface Toast {
  readonly id: number
  readonly title: string
  readonly detail?: string | undefined
  readonly tone: 'plain' | 'good' | 'bad'
  readonly action?: { readonly label: string; readonly run: () => void } | undefined
}

interface Toasts {
  readonly toasts: readonly Toast[]
  readonly dismiss: (id: number) => void
}

export const useToasts = create<Toasts>((set) => ({
  toasts: [],
  dismiss: (id) => set(({ toasts }) => ({ toasts: toasts.filter((toast) => toast.id !== id) })),
}))

const most = 4
const shownMs = { plain: 6000, good: 6000, bad: 20_000 } as const
const shownWithActionMs = 12_000
let lastId = 0

export function toast({
  tone = 'plain',
  ...rest
}: Omit<Toast, 'id' | 'tone'> & { readonly tone?: Toast['tone'] }): void {
  const id = ++lastId
  useToasts.setState(({ toasts }) => ({ toasts: [...toasts, { id, tone, ...rest }].slice(-most) }))
  // Errors stay long enough to be read, undoable actions long enough to be undone.
  const ms = rest.action === undefined ? shownMs[tone] : Math.max(shownMs[tone], shownWithActionMs)
  setTimeout(() => useToasts.getState().dismiss(id), ms)
}

export const toastError = (error: Error): void =>
  toast({ title: error.message, detail: hintOf(error), tone: 'bad' })

// Display of errors.

export const asError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(String(thrown))

export function hintOf(error: Error): string | undefined {
  if (error instanceof AppError) return error.hint
  return 'hint' in error && typeof error.hint === 'string' ? error.hint : undefined
}

export const codeOf = (error: Error): string | null => (error instanceof AppError ? error.code : null)

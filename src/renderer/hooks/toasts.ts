/** Short notices in the corner: what was done and can be undone, what failed. */
import { create } from 'zustand'
import { hintOf } from './failures.ts'

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
const shownMs = 6000
let lastId = 0

export function toast({
  tone = 'plain',
  ...rest
}: Omit<Toast, 'id' | 'tone'> & { readonly tone?: Toast['tone'] }): void {
  const id = ++lastId
  useToasts.setState(({ toasts }) => ({ toasts: [...toasts, { id, tone, ...rest }].slice(-most) }))
  // What failed stays until someone has read it.
  if (tone !== 'bad') setTimeout(() => useToasts.getState().dismiss(id), shownMs)
}

export const toastError = (error: Error): void =>
  toast({ title: error.message, detail: hintOf(error), tone: 'bad' })

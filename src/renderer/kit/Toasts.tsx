import { CircleAlert, CircleCheck, X } from 'lucide-react'
import { useToasts, type Toast } from '#renderer/client/toasts.ts'
import { Button, IconButton } from './Button.tsx'

export function Toasts() {
  const { toasts, dismiss } = useToasts()
  return (
    <section
      aria-label="Notices"
      aria-live="polite"
      className="fixed top-13 right-4 z-50 flex w-90 max-w-[calc(100vw-32px)] flex-col gap-2"
    >
      {toasts.map((toast) => (
        <Notice key={toast.id} toast={toast} onClose={() => dismiss(toast.id)} />
      ))}
    </section>
  )
}

function Notice({ toast: { title, detail, tone, action }, onClose }: { toast: Toast; onClose: () => void }) {
  return (
    <div className="flex items-start gap-2 rounded border border-line bg-bg px-3 py-2 shadow-float animate-appear">
      {tone === 'bad' && <CircleAlert size={16} aria-hidden className="mt-0.5 shrink-0 text-bad" />}
      {tone === 'good' && <CircleCheck size={16} aria-hidden className="mt-0.5 shrink-0 text-good" />}
      <div className="min-w-0 grow break-words">
        <p className="font-medium">{title}</p>
        {detail !== undefined && <p className="text-muted">{detail}</p>}
      </div>
      {action !== undefined && (
        <Button
          small
          onClick={() => {
            action.run()
            onClose()
          }}
        >
          {action.label}
        </Button>
      )}
      <IconButton small label="Dismiss" icon={<X size={13} aria-hidden />} onClick={onClose} />
    </div>
  )
}

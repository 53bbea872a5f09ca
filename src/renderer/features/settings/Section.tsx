import type { ReactNode } from 'react'

interface SectionProps {
  readonly title: string
  /** One sentence below the title. */
  readonly about?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}

export const Section = ({ title, about, actions, children }: SectionProps) => (
  <section aria-label={title} className="mb-6">
    <header className="mb-2 flex min-h-7 items-center gap-3 phone:flex-wrap">
      <div className="min-w-0 grow phone:basis-full">
        <h2 className="text-lg font-semibold">{title}</h2>
        {about !== undefined && <p className="text-muted text-pretty">{about}</p>}
      </div>
      {actions}
    </header>
    {children}
  </section>
)

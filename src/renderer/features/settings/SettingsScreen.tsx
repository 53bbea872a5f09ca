import type { ComponentType } from 'react'
import { besideClasses } from '#renderer/kit/classes.ts'
import { Page } from '#renderer/kit/Page.tsx'
import { AboutSection } from './About.tsx'
import { AppearanceSection } from './Appearance.tsx'
import { DevicesSection } from './Devices.tsx'
import { KeysSection } from './Keys.tsx'
import { PrivacySection } from './Privacy.tsx'
import { SelfTestSection } from './SelfTest.tsx'
import { StorageSection } from './Storage.tsx'
import { link, useRoute } from '#renderer/client/route.ts'

const sections: readonly { readonly id: string; readonly title: string; readonly Content: ComponentType }[] =
  [
    { id: 'devices', title: 'Devices', Content: DevicesSection },
    { id: 'storage', title: 'Storage', Content: StorageSection },
    { id: 'privacy', title: 'Privacy', Content: PrivacySection },
    { id: 'keys', title: 'Keys', Content: KeysSection },
    { id: 'appearance', title: 'Appearance', Content: AppearanceSection },
    { id: 'self-test', title: 'Self-test', Content: SelfTestSection },
    { id: 'about', title: 'About', Content: AboutSection },
  ]

/** What holds for the program as a whole; settings of runs stand where a run is set up. */
export function SettingsScreen() {
  const { path } = useRoute()
  const shown = sections.find(({ id }) => id === path[1]) ?? sections[0]
  return (
    <Page title="Settings" isFull>
      <div className={besideClasses}>
        <nav
          aria-label="Settings"
          className="w-44 shrink-0 border-r border-line p-3 narrow:w-full narrow:border-r-0 narrow:border-b"
        >
          <ul className="grid gap-0.5 narrow:flex narrow:flex-wrap">
            {sections.map(({ id, title }) => (
              <li key={id}>
                <a
                  href={link(`/settings/${id}`)}
                  aria-current={id === shown?.id ? 'page' : undefined}
                  className="flex h-7 items-center rounded px-2 text-muted hover:bg-raised hover:text-text aria-[current=page]:bg-accent-soft aria-[current=page]:font-medium aria-[current=page]:text-accent-ink"
                >
                  {title}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <div
          key={shown?.id}
          role="region"
          aria-label={shown?.title}
          tabIndex={0}
          className="min-w-0 grow overflow-auto px-page py-6 narrow:overflow-visible -outline-offset-2"
        >
          <div className="max-w-200">{shown !== undefined && <shown.Content />}</div>
        </div>
      </div>
    </Page>
  )
}

import { useEffect } from 'react'
import { useAnswer } from './api.tsx'
import { useSetting } from './settings.ts'

/** Themes of theme.css. */
export const themes = ['system', 'light', 'dark', 'contrast'] as const
export type Theme = (typeof themes)[number]

const rememberedAt = 'turnwise.theme'
const prefersDark = matchMedia('(prefers-color-scheme: dark)')
const prefersContrast = matchMedia('(prefers-contrast: more)')

function resolved(theme: Theme): Exclude<Theme, 'system'> {
  if (theme !== 'system') return theme
  if (prefersContrast.matches) return 'contrast'
  return prefersDark.matches ? 'dark' : 'light'
}

let chosen: Theme = 'system'

function applyTheme(theme: Theme): void {
  chosen = theme
  localStorage.setItem(rememberedAt, theme)
  document.documentElement.dataset['theme'] = resolved(theme)
}

/** Applies the last theme before the first paint, so that nothing flashes while the host is queried. */
export function startTheme(): void {
  const remembered = localStorage.getItem(rememberedAt)
  applyTheme(themes.find((theme) => theme === remembered) ?? 'system')
  for (const query of [prefersDark, prefersContrast]) {
    query.addEventListener('change', () => applyTheme(chosen))
  }
}

const key = 'appearance.theme'

export function useTheme(): readonly [Theme, (theme: Theme) => void] {
  const [kept, set] = useSetting<string>(key, 'system')
  return [themes.find((theme) => theme === kept) ?? 'system', set]
}

/** Applies the chosen theme. Mounted once, near the root. */
export function useThemeSetting(): void {
  const { data } = useAnswer('settings.all', undefined)
  const [theme] = useTheme()
  const isKnown = data !== undefined
  useEffect(() => {
    if (isKnown) applyTheme(theme)
  }, [theme, isKnown])
}

/** Returns the nonce of the page: styles that libraries add at run time are refused without it. */
export const styleNonce = (): string =>
  document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? ''

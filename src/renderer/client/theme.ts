/** Which of the themes of theme.css is on. */
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

export function applyTheme(theme: Theme): void {
  chosen = theme
  localStorage.setItem(rememberedAt, theme)
  document.documentElement.dataset['theme'] = resolved(theme)
}

/** Before the first picture: as last time, so that nothing flashes while the host is asked. */
export function startTheme(): void {
  const remembered = localStorage.getItem(rememberedAt)
  applyTheme(themes.find((theme) => theme === remembered) ?? 'system')
  for (const query of [prefersDark, prefersContrast]) {
    query.addEventListener('change', () => applyTheme(chosen))
  }
}

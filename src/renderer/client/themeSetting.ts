import { useEffect } from 'react'
import { applyTheme, themes, type Theme } from './theme.ts'
import { useAnswer } from './api.tsx'
import { useSetting } from './settings.ts'

const key = 'appearance.theme'

export function useTheme(): readonly [Theme, (theme: Theme) => void] {
  const [kept, set] = useSetting<string>(key, 'system')
  return [themes.find((theme) => theme === kept) ?? 'system', set]
}

/** Applies the chosen theme. Once, near the root. */
export function useThemeSetting(): void {
  const { data } = useAnswer('settings.all', undefined)
  const [theme] = useTheme()
  const isKnown = data !== undefined
  useEffect(() => {
    if (isKnown) applyTheme(theme)
  }, [theme, isKnown])
}

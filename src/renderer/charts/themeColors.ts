/** Colours of the theme for what is no CSS: canvases and files. */
import { useSyncExternalStore } from 'react'

/** What a CSS colour such as var(--run-1) is right now. */
export function resolveColor(color: string): string {
  const name = /^var\((--[\w-]+)\)$/.exec(color)?.[1]
  if (name === undefined) return color
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim() || '#888888'
}

function subscribe(listener: () => void): () => void {
  const observer = new MutationObserver(listener)
  observer.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  return () => observer.disconnect()
}

/** Changes with the theme. */
export const useThemeName = (): string =>
  useSyncExternalStore(subscribe, () => document.documentElement.dataset['theme'] ?? 'light')

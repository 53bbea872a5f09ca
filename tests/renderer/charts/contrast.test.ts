/** Of words on their grounds, computed from the colours of theme.css: 4.5:1 and more in every theme. */
import { readFileSync } from 'node:fs'
import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { describe, expect, test } from 'vitest'
import { Button } from '#renderer/kit/Button.tsx'

const css = readFileSync(new URL('../../../src/renderer/theme.css', import.meta.url), 'utf8')

/** Colours of a theme by name; light ones hold where a theme says none of its own. */
function coloursOf(theme: string): Readonly<Record<string, string>> {
  const selector = theme === 'light' ? ':root {' : `:root[data-theme='${theme}'] {`
  const from = css.indexOf(selector)
  if (from < 0) throw new Error(`Expected the theme ${theme}.`)
  const block = css.slice(from, css.indexOf('}', from))
  const all = [...block.matchAll(/--([\w-]+): (#[\da-f]{6});/g)]
  return Object.fromEntries(all.map(([, name = '', colour = '']) => [name, colour] as const))
}

/** Relative luminance, WCAG 2.2. */
function luminance(colour: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

function contrast(a: string, b: string): number {
  const [dark = 0, light = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y)
  return (light + 0.05) / (dark + 0.05)
}

/** Names of text and ground that a button gets by its classes in a state: none, hover or disabled. */
function lookOf(
  variant: 'primary' | 'plain' | 'quiet' | 'danger',
  state: '' | 'enabled:hover:' | 'disabled:',
) {
  const html = renderToStaticMarkup(createElement(Button, { variant }, 'Send'))
  const all = (/class="([^"]*)"/.exec(html)?.[1] ?? '').split(/\s+/)
  const colours = new Set(Object.keys(coloursOf('light')))
  const of = (kind: 'text' | 'bg', prefix: string) =>
    all
      .filter((each) => each.startsWith(`${prefix}${kind}-`))
      .map((each) => each.slice(prefix.length + kind.length + 1))
      .find((name) => colours.has(name))
  const either = (kind: 'text' | 'bg') => of(kind, state) ?? of(kind, '')
  expect(all.filter((each) => /opacity/.test(each))).toEqual([])
  return { text: either('text'), ground: either('bg') ?? 'bg' }
}

const variants = ['primary', 'plain', 'quiet', 'danger'] as const
const states = ['', 'enabled:hover:', 'disabled:'] as const

describe.each(['light', 'dark', 'contrast'])('buttons in the theme %s', (theme) => {
  const colours = coloursOf(theme)

  test.each(variants.flatMap((variant) => states.map((state) => [variant, state] as const)))(
    'are read: %s %s',
    (variant, state) => {
      const { text = '', ground } = lookOf(variant, state)
      expect(contrast(colours[text] ?? '', colours[ground] ?? '')).toBeGreaterThanOrEqual(4.5)
    },
  )

  test('a disabled one is told from one that can be pressed by its ground', () => {
    expect(lookOf('primary', 'disabled:').ground).not.toBe(lookOf('primary', '').ground)
    expect(lookOf('plain', 'disabled:').ground).not.toBe(lookOf('plain', '').ground)
  })
})

test('white on black is 21:1, and half violet on white too little', () => {
  expect(contrast('#ffffff', '#000000')).toBeCloseTo(21, 9)
  expect(contrast('#ffffff', '#a7a3f2')).toBeLessThan(4.5)
})

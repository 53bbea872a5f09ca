/** What does not fit into a window of some size, found in the page itself by where things lie. */
import type { Page } from '@playwright/test'

/**
 * In words: what wants to be scrolled sideways, what is cut off at an edge, lies under something else or over its
 * neighbour, and headings and buttons of whose text too little is left. Tables, trees drawn as charts, code and charts may be wider
 * than the window (WCAG 1.4.10).
 */
export const reflowProblems = (page: Page): Promise<readonly string[]> => page.evaluate(findProblems)

/** Runs in the page, so it holds all it needs. */
function findProblems(): readonly string[] {
  const controls =
    'a[href], button, input:not([type=hidden]), select, textarea, [role=tab], [role=slider], [role=radio], [role=switch]'
  const mayScroll = 'table, [role=table], [role=grid], [role=tree], pre, code, .cm-editor, [role=tablist]'
  /** Names may be shortened, but not to nothing. */
  const enoughPx = 96
  const tolerance = 1
  const problems = new Set<string>()

  const nameOf = (element: Element): string => {
    const label = element.getAttribute('aria-label') ?? element.textContent
    return `${element.tagName.toLowerCase()} «${label.trim().replaceAll(/\s+/g, ' ').slice(0, 40)}»`
  }
  const isShown = (element: Element): boolean => {
    const { width, height } = element.getBoundingClientRect()
    return (
      width > 1 && height > 1 && element.checkVisibility({ visibilityProperty: true, opacityProperty: true })
    )
  }
  const parentsOf = (element: Element): Element[] => {
    const found: Element[] = []
    for (let at = element.parentElement; at !== null; at = at.parentElement) found.push(at)
    return found
  }
  const isOfTable = (element: Element): boolean =>
    element.closest(mayScroll) !== null || element.querySelector(mayScroll) !== null

  const findSideways = (): void => {
    const { scrollWidth, clientWidth } = document.documentElement
    if (scrollWidth > clientWidth + tolerance) problems.add('the page is wider than the window')
    for (const element of document.querySelectorAll('body *')) {
      if (element.scrollWidth <= element.clientWidth + tolerance || element.clientWidth === 0) continue
      const { overflowX } = getComputedStyle(element)
      const scrolls = overflowX === 'auto' || overflowX === 'scroll'
      if (scrolls && isShown(element) && !isOfTable(element))
        problems.add(
          `${nameOf(element)} scrolls sideways by ${String(element.scrollWidth - element.clientWidth)} px`,
        )
    }
  }

  /** What is seen of an element inside the edges of all that cuts it off. */
  const cutOffX = (element: Element): number => {
    const { left, right } = element.getBoundingClientRect()
    let [from, to] = [0, innerWidth]
    for (const parent of parentsOf(element)) {
      const { overflowX } = getComputedStyle(parent)
      if (overflowX === 'visible') continue
      if (overflowX !== 'hidden' && overflowX !== 'clip' && isOfTable(parent)) return 0
      const edge = parent.getBoundingClientRect()
      from = Math.max(from, edge.left)
      to = Math.min(to, edge.right)
    }
    return Math.max(0, from - left, right - to)
  }

  const floats = (element: Element): boolean =>
    [element, ...parentsOf(element)].some((each) =>
      ['fixed', 'sticky', 'absolute'].includes(getComputedStyle(each).position),
    )

  /** What lies above the middle of a control, unless it belongs to it or floats on purpose. */
  const above = (element: Element): Element | null => {
    element.scrollIntoView({ block: 'center', inline: 'nearest' })
    const { left, top, width, height } = element.getBoundingClientRect()
    const hit = document.elementFromPoint(left + width / 2, top + height / 2)
    if (hit === null || hit.contains(element) || element.contains(hit)) return null
    const label = element.closest('label') ?? element.parentElement
    if (label?.contains(hit) === true || floats(hit)) return null
    return hit
  }

  const findHidden = (): void => {
    for (const element of document.querySelectorAll(controls)) {
      if (!isShown(element)) continue
      const cut = cutOffX(element)
      if (cut > tolerance + 1) problems.add(`${nameOf(element)} is cut off by ${String(Math.round(cut))} px`)
      const cover = above(element)
      if (cover !== null) problems.add(`${nameOf(element)} lies under ${nameOf(cover)}`)
    }
  }

  /** Neighbours in the flow, of which neither floats. */
  const findOverlaps = (): void => {
    const edges = (element: Element) => element.getBoundingClientRect()
    for (const parent of document.querySelectorAll('main, main *, footer, footer *, nav')) {
      if (parent.closest('svg, canvas, .cm-editor, [role=slider], table') !== null) continue
      const children = [...parent.children].filter((child) => {
        const { display, position } = getComputedStyle(child)
        return isShown(child) && !display.startsWith('inline') && ['static', 'relative'].includes(position)
      })
      for (const [i, child] of children.entries()) {
        const next = children[i + 1]
        if (next === undefined) continue
        const [a, b] = [edges(child), edges(next)]
        const x = Math.min(a.right, b.right) - Math.max(a.left, b.left)
        const y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)
        if (x > 2 && y > 2) problems.add(`${nameOf(child)} lies over ${nameOf(next)}`)
      }
    }
  }

  const isCut = (part: Element): boolean => {
    const { overflowX, textOverflow, display } = getComputedStyle(part)
    if (overflowX === 'visible' || display === 'inline' || part.clientWidth <= 1) return false // the last: for ears
    return textOverflow !== 'ellipsis' || part.clientWidth < enoughPx
  }

  const findShortened = (): void => {
    for (const element of document.querySelectorAll('h1, h2, h3, h4, button, a[href], [role=tab], label')) {
      if (!isShown(element) || element.closest('table, [role=table], .cm-editor') !== null) continue
      for (const part of [element, ...element.querySelectorAll('*')]) {
        if (part.scrollWidth <= part.clientWidth + tolerance || part.clientWidth === 0) continue
        if (isCut(part)) problems.add(`${nameOf(element)} is shortened to ${String(part.clientWidth)} px`)
      }
    }
  }

  const title = document.querySelector('main h1')
  if (title === null || !isShown(title)) problems.add('the title is not to be seen')
  findSideways()
  findOverlaps()
  findShortened()
  findHidden()
  return [...problems]
}

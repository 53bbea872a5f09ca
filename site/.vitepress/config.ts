/** The documents as a site: `npm run docs` in the repository shows it, `npm --prefix site run build` writes it. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type DefaultTheme, type SiteConfig, defineConfig } from 'vitepress'
import { addressOf, sections } from './contents.ts'

const description = 'Finetune language models with reinforcement learning, on your own computer.'

const nav: DefaultTheme.NavItem[] = Object.entries(sections).map(([text, { page }]) => ({
  text,
  link: addressOf(page),
  activeMatch:
    text === 'Guide'
      ? '^/docs/guide/'
      : text === 'Algorithms'
        ? '^/docs/algorithms/'
        : `^${addressOf(page)}$`,
}))

/** Beside a page of a section stands that section; beside any other the guide. */
const sidebar: DefaultTheme.SidebarMulti = { '/': sections.Guide.groups as DefaultTheme.SidebarItem[] }
for (const { page, groups } of Object.values(sections)) {
  const links = [addressOf(page), ...groups.flatMap(({ items }) => items.map(({ link }) => link))]
  for (const link of links) sidebar[link] ??= groups as DefaultTheme.SidebarItem[]
}

/** True for a link into the repository that leads to no document or picture. */
const isSource = (href: string): boolean =>
  !/^(?:https?:|mailto:|#)/.test(href) && (href.includes('/tests/') || !/\.(?:md|png|svg)(?:#|$)/.test(href))

/** https://llmstxt.org: what the documents are, for programs that read them. */
function writeIndex({ outDir, pages }: SiteConfig): void {
  const lines = Object.entries(sections).flatMap(([name, { groups }]) => [
    `\n## ${name}\n`,
    ...groups.flatMap(({ items }) => items.map(({ text, link }) => `- [${text}](${link})`)),
  ])
  writeFileSync(join(outDir, 'llms.txt'), `# Turnwise\n\n> ${description}\n${lines.join('\n')}\n`)
  console.log(`${pages.length} pages`)
}

export default defineConfig({
  title: 'Turnwise',
  description,
  rewrites: (id: string) => id.replace(/(^|\/)README\.md$/, '$1index.md'),
  outDir: '../out/site',
  cacheDir: './node_modules/.cache',
  cleanUrls: true,
  markdown: {
    math: true,
    config(md) {
      // Documents are text, not templates.
      for (const kind of ['text', 'code_inline']) {
        const render = md.renderer.rules[kind]
        md.renderer.rules[kind] = (...given) => (render?.(...given) ?? '').replaceAll('{{', '&#123;&#123;')
      }
      const { link_open: open } = md.renderer.rules
      md.renderer.rules['link_open'] = (tokens, index, options, env, self) => {
        const token = tokens[index]
        const href = token?.attrGet('href') ?? ''
        if (/^[./\w-]*README\.md/.test(href)) token?.attrSet('href', href.replace('README.md', 'index.md'))
        // The sources are no part of the site.
        if (token && isSource(href)) token.attrs = token.attrs?.filter(([name]) => name !== 'href') ?? null
        return open ? open(tokens, index, options, env, self) : self.renderToken(tokens, index, options)
      }
    },
  },
  // The documents are links into this folder, so that what they are compiled to finds its packages.
  vite: { resolve: { preserveSymlinks: true } },
  themeConfig: {
    nav,
    sidebar,
    outline: [2, 3],
    search: { provider: 'local' },
    docFooter: { prev: 'Before', next: 'Next' },
  },
  buildEnd: writeIndex,
})

/** Reads the contents of the site from the documents themselves: their titles and the lists of the guide and of the algorithms. */
import { readFileSync } from 'node:fs'
import { dirname, join, normalize, resolve } from 'node:path'

/** Folder of the repository. */
export const root = resolve(import.meta.dirname, '../..')

export interface Entry {
  readonly text: string
  readonly link: string
}

export interface Group {
  readonly text: string
  readonly items: readonly Entry[]
}

/** Address of a document; a folder's README is the folder's page. */
export const addressOf = (file: string): string =>
  `/${normalize(file)}`.replace(/\.md$/, '').replace(/README$/, '')

/** First heading of a document. */
export const titleOf = (file: string): string =>
  /^# (.+)$/m.exec(readFileSync(join(root, file), 'utf8'))?.[1] ?? file

export const entryOf = (file: string): Entry => ({ text: titleOf(file), link: addressOf(file) })

/** Groups of a document that lists others: a line in bold or a heading, then a list of links. */
export function groupsOf(file: string): Group[] {
  const groups: { text: string; items: Entry[] }[] = []
  for (const line of readFileSync(join(root, file), 'utf8').split('\n')) {
    const heading = /^(?:\*\*(.+)\*\*|## (.+))$/.exec(line)
    const link = /^- \[([^\]]+)\]\(([^)#]+\.md)\)/.exec(line)
    if (heading) groups.push({ text: heading[1] ?? heading[2] ?? '', items: [] })
    if (link?.[1] && link[2])
      groups.at(-1)?.items.push({ text: link[1], link: addressOf(join(dirname(file), link[2])) })
  }
  return groups.filter(({ items }) => items.length > 0)
}

export interface Section {
  /** Document that the bar leads to. */
  readonly page: string
  readonly groups: readonly Group[]
}

/** Sections in the order of the bar at the top, with what stands beside their pages. */
export const sections: Readonly<Record<string, Section>> = {
  Guide: { page: 'docs/guide/README.md', groups: groupsOf('docs/guide/README.md') },
  Reference: {
    page: 'docs/reference.md',
    groups: [
      {
        text: 'Reference',
        items: ['reference', 'commands', 'json', 'models', 'formats', 'glossary', 'api'].map((name) =>
          entryOf(`docs/${name}.md`),
        ),
      },
      { text: 'Beside other tools', items: ['docs/other-tools.md', 'docs/remote-rollouts.md'].map(entryOf) },
      { text: 'Project', items: ['SECURITY.md', 'CHANGELOG.md'].map(entryOf) },
    ],
  },
  Algorithms: {
    page: 'docs/algorithms/README.md',
    groups: [
      {
        text: 'Algorithms',
        items: [
          'grpo',
          'gspo',
          'cispo',
          'sapo',
          'reinforce',
          'reinforce-plus-plus',
          'rloo',
          'remax',
          'ppo',
          'distillation',
          'sft',
          'dpo',
          'orpo',
          'simpo',
          'kto',
        ].map((name) => entryOf(`docs/algorithms/${name}.md`)),
      },
      ...groupsOf('docs/algorithms/README.md'),
    ],
  },
  Internals: {
    page: 'docs/architecture.md',
    groups: [
      {
        text: 'Internals',
        items: [
          'docs/architecture.md',
          'CONTRIBUTING.md',
          'docs/contributing/README.md',
          'docs/performance.md',
          'bench/history/README.md',
          'bench/peers/README.md',
          'bench/device/README.md',
        ].map(entryOf),
      },
    ],
  },
}

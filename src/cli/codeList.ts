/** Lists losses or workflows: custom ones and those of the gallery. */
import { Command } from '@commander-js/extra-typings'
import { createHost } from '#host/createHost.ts'
import type { Host } from '#host/host.ts'
import { readExamples } from '#host/api/rewardsService.ts'
import { withFile } from '#host/code/rewardVersions.ts'
import type { Context } from './command.ts'
import { tableLines } from './output.ts'

type Kind = 'loss' | 'workflow'

export const listCode = (context: Context, folder: 'losses' | 'workflows', kind: Kind) =>
  new Command('list')
    .description(
      `List ${folder}: your own with the file of the newest version, and the gallery, whose files are there to copy.`,
    )
    .action(async () => {
      const { dataDirectory, output } = context()
      await using host = createHost({ dataDirectory, servesQueue: false })
      const gallery = readExamples(folder, kind).map(({ id, file }) => ({
        id,
        title: id,
        versions: null,
        file,
      }))
      const entries = [...ownCode(host, kind), ...gallery]
      output.json(entries)
      const rows = entries.map(({ title, versions, file }) => [
        title,
        versions === null ? '' : String(versions),
        file,
      ])
      for (const line of tableLines([kind, 'versions', 'file'], rows)) output.line(line)
    })

interface Listed {
  readonly title: string
  /** Null for gallery code. */
  readonly versions: number | null
  /** Name in configs. */
  readonly file: string
}

/** Custom code with a saved version. */
const ownCode = (host: Host, kind: Kind): Listed[] =>
  host.store.rewards.list(kind).flatMap(({ id, name: title }) => {
    const versions = host.store.rewards.versions(id)
    const [newest] = versions
    return newest === undefined
      ? []
      : [{ title, versions: versions.length, file: withFile(host, newest).file }]
  })

import { useState, type ReactNode } from 'react'
import { Badge } from '#renderer/kit/Badge.tsx'
import { besideClasses } from '#renderer/kit/classes.ts'
import { Page, KeyValue } from '#renderer/kit/Page.tsx'
import type { GalleryEntry } from '#renderer/parts/rewardTypes.ts'
import { kinds } from './kinds.tsx'
import { PlayTab } from './PlayTab.tsx'
import { SettingsFields } from './SettingsFields.tsx'
import { useRewardBench } from './useRewards.ts'
import { useEpisode } from './useTrials.ts'

const defaultEntry = ([name, value]: readonly [string, unknown]) =>
  [name, <Code key={name}>{JSON.stringify(value)}</Code>] as const

/** Page of a function without source: description, settings, and an episode if it is an environment. */
export function BuiltInPage({ entry, library }: { entry: GalleryEntry; library: ReactNode }) {
  const [values, setValues] = useState({})
  const bench = useRewardBench()
  const episode = useEpisode({
    code: { builtIn: entry.id },
    settings: values,
    row: bench.shown.rows[0] ?? {},
  })
  const rowWords = bench.shown.rows.length === 0 ? 'an empty row' : 'the first row of the chosen data set'
  const known = entry.settings ?? {}
  const isEnvironment = entry.kind === 'environment'
  return (
    <Page isFull title={entry.title} about={<Badge>Built-in</Badge>}>
      <div className={besideClasses}>
        {library}
        <div className="flex min-h-0 min-w-0 grow flex-col">
          <div className="flex shrink-0 flex-col gap-4 px-page py-6">
            <p className="max-w-180 text-pretty">{entry.description}</p>
            <KeyValue
              entries={[
                ['Kind', kinds[entry.kind].title],
                ['Name in a run', <Code key="id">{entry.id}</Code>],
              ]}
            />
            {Object.keys(known).length > 0 && (
              <section className="max-w-180">
                <h2 className="pb-1 font-medium">
                  {isEnvironment ? 'Settings' : 'Settings and their defaults'}
                </h2>
                {isEnvironment ? (
                  <SettingsFields known={known} values={values} onChange={setValues} />
                ) : (
                  <KeyValue entries={Object.entries(known).map(defaultEntry)} />
                )}
              </section>
            )}
            {!isEnvironment && (
              <p className="text-muted">A new run can add it with a weight and settings of its own.</p>
            )}
          </div>
          {isEnvironment && (
            <section aria-label="Play" className="flex min-h-0 grow flex-col border-t border-line">
              <PlayTab episode={episode} rowWords={rowWords} />
            </section>
          )}
        </div>
      </div>
    </Page>
  )
}

const Code = ({ children }: { children: string }) => <code className="font-mono text-sm">{children}</code>

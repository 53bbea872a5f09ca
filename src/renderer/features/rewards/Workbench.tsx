/**
 * Code on the left, rows on the right, results below. Reading guide of this folder: Workbench.tsx (here) puts a
 * reward's page together; OwnWorkbench.tsx and GalleryWorkbench.tsx provide its content; EditorPane, RowsPane and the
 * …Tab files are its parts; LossWorkbench.tsx and WorkflowWorkbench.tsx do the same for losses and workflows;
 * CodeFrame.tsx is the page around all of them, RewardsScreen.tsx has the list on its left; RewardPicker.tsx serves
 * other places. Pure logic: bench.ts, episode.ts, results.ts, testForm.ts.
 */
import type { ReactNode } from 'react'
import { Help } from '#renderer/kit/Tooltip.tsx'
import { SplitPane } from '#renderer/kit/SplitPane.tsx'
import { Tabs, type Tab } from '#renderer/kit/Tabs.tsx'
import { SettingsFields } from './SettingsFields.tsx'
import type { SettingValues } from '../../parts/rewardTypes.ts'

export interface WorkbenchTab {
  readonly tab: Tab<string>
  readonly content: ReactNode
}

interface WorkbenchProps {
  readonly editor: ReactNode
  readonly rows: ReactNode
  /** Omitted if its rows contain them. */
  readonly settings?: {
    readonly known: SettingValues
    readonly values: SettingValues
    readonly onChange: (values: SettingValues) => void
    readonly columns: readonly string[]
  }
  readonly tabs: readonly WorkbenchTab[]
  readonly openTab: string
  readonly onOpenTab: (id: string) => void
  /** True if the tabs need as much room as the code. */
  readonly isTall?: boolean
}

export function Workbench(props: WorkbenchProps) {
  const { editor, rows, settings, tabs, openTab, onOpenTab, isTall = false } = props
  const open = tabs.find(({ tab }) => tab.id === openTab) ?? tabs[0]
  return (
    <SplitPane
      id={isTall ? 'rewards.tall' : 'rewards.below'}
      direction="vertical"
      sizes={isTall ? [45, 55] : [58, 42]}
      minimums={[200, 120]}
    >
      <SplitPane id="rewards.rows" sizes={[60, 40]} minimums={[320, 260]}>
        {editor}
        <div className="flex min-h-0 min-w-0 grow flex-col">
          {rows}
          {settings !== undefined && Object.keys(settings.known).length > 0 && (
            <SettingsSection {...settings} />
          )}
        </div>
      </SplitPane>
      {open !== undefined && (
        <Tabs
          label="Results"
          tabs={tabs.map(({ tab }) => tab)}
          value={open.tab.id}
          onChange={onOpenTab}
          className="flex flex-col"
        >
          {open.content}
        </Tabs>
      )}
    </SplitPane>
  )
}

const SettingsSection = ({ known, values, onChange, columns }: NonNullable<WorkbenchProps['settings']>) => (
  <section aria-label="Settings" className="flex max-h-44 shrink-0 flex-col border-t border-line">
    <h2 className="flex h-7 shrink-0 items-center pl-3 text-sm font-medium text-muted">
      Settings
      <Help about="settings">
        The code declares them with their defaults. Changes here apply to dry runs, reward-hacking tests and
        new runs started from here.
      </Help>
    </h2>
    <div className="min-h-0 overflow-auto px-3 pb-2">
      <SettingsFields known={known} values={values} onChange={onChange} columns={columns} />
    </div>
  </section>
)

/** Count beside a tab's name; hidden if 0. */
export const Count = ({ of: count }: { of: number }) =>
  count === 0 ? null : (
    <span className="rounded-full bg-raised px-1.5 text-xs text-muted tabular-nums">{count}</span>
  )

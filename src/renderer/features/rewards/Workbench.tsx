/**
 * Code on the left, data on the right, results below. Reading guide of this folder: Workbench.tsx (here) is the page of
 * whatever is open; kinds.tsx describes rewards, environments, losses and workflows for it, CodeWorkbench.tsx fills it
 * with code of the library or the gallery, JudgeWorkbench.tsx and PythonWorkbench.tsx with what has no code here.
 * EditorPane, the …Pane and the …Tab files are its parts. RewardsScreen.tsx has the list on its left; RewardPicker.tsx
 * serves other places. Pure logic: bench.ts, episode.ts, results.ts, testForm.ts.
 */
import { Play } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { useKeys } from '#renderer/client/keys.ts'
import type { CodeFailurePlace } from '#renderer/editor/problemLines.ts'
import type { CodeContext } from '#renderer/editor/types/ambient.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { besideClasses } from '#renderer/kit/classes.ts'
import { Page } from '#renderer/kit/Page.tsx'
import { SplitPane } from '#renderer/kit/SplitPane.tsx'
import { ErrorNote, Loading } from '#renderer/kit/states.tsx'
import { Tabs, type Tab } from '#renderer/kit/Tabs.tsx'
import type { Code, GalleryEntry } from '#renderer/parts/rewardTypes.ts'
import type { OpenReward } from './useRewards.ts'

export interface WorkbenchTab {
  readonly tab: Tab<string>
  readonly content: ReactNode
}

/** Content that a kind of code puts on the workbench. */
export interface Trial {
  readonly act: () => void
  /** Button that acts, as its key does; null if only the editor's key does. */
  readonly button: {
    readonly words: string
    readonly title?: string | undefined
    readonly isDisabled?: boolean
  } | null
  /** Right of the code: what it is tried on. */
  readonly pane: ReactNode
  /** The first is open at the beginning. */
  readonly tabs: readonly WorkbenchTab[]
}

/** The open tab and the line of code to show, which a trial moves. */
export function useView() {
  const [tab, openTab] = useState<string | null>(null)
  const [goTo, setGoTo] = useState<{ readonly line: number } | null>(null)
  return { tab, openTab, goTo, goToLine: (line: number) => setGoTo({ line }) }
}

export type View = ReturnType<typeof useView>

export interface EditorStatus {
  readonly tone: 'good' | 'caution' | 'bad'
  readonly words: string
}

/** Code on the workbench. */
export interface OpenCode {
  /** Id of the entry in the library or the gallery. */
  readonly key: string
  readonly code: Code
  /** Null for gallery code, which is read only. */
  readonly own: OpenReward | null
  /** Examples of gallery code; the user's own code has tests. */
  readonly examples: GalleryEntry['examples']
  /** Models that can write completions. */
  readonly models: readonly string[]
  readonly view: View
}

export interface CodeTrial extends Trial {
  readonly status: EditorStatus | undefined
  /** Lines that failed in the last trial. */
  readonly problems: readonly CodeFailurePlace[]
  /** Surroundings of the code, whose declarations the editor checks it against. */
  readonly context: CodeContext
}

interface WorkbenchProps {
  /** Name of what is open; none where the view has only one. */
  readonly title?: string
  readonly about?: ReactNode
  /** Buttons before that of the trial. */
  readonly actions?: ReactNode
  /** List of what can be opened. */
  readonly library?: ReactNode
  readonly editor: ReactNode
  readonly trial: Trial
  readonly view: View
  /** Tabs after those of the trial. */
  readonly tabs?: readonly WorkbenchTab[]
  /** True if the tabs need as much room as the code. */
  readonly isTall?: boolean
  /** Omitted if nothing needs to be loaded. */
  readonly opening?: { readonly isLoaded: boolean; readonly error: Error | null }
}

const opened = { isLoaded: true, error: null }

export function Workbench(props: WorkbenchProps) {
  const { title, about, actions, library, trial, opening: { isLoaded, error } = opened } = props
  const { button, act } = trial
  useKeys(button === null ? {} : { act })
  return (
    <Page
      isFull
      title={title}
      about={about}
      main={
        <>
          {actions}
          {button !== null && (
            <Button
              variant="primary"
              icon={Play}
              title={button.title}
              disabled={button.isDisabled}
              onClick={act}
            >
              {button.words}
            </Button>
          )}
        </>
      }
    >
      <div className={besideClasses}>
        {library}
        {error !== null && <ErrorNote error={error} className="m-4 self-start" />}
        {!isLoaded && error === null && <Loading label="Opening the code" />}
        {isLoaded && <Panes {...props} />}
      </div>
    </Page>
  )
}

function Panes({ editor, trial, view, tabs = [], isTall = false }: WorkbenchProps) {
  const all = [...trial.tabs, ...tabs]
  const open = all.find(({ tab }) => tab.id === view.tab) ?? all[0]
  return (
    <SplitPane
      id={isTall ? 'rewards.tall' : 'rewards.below'}
      direction="vertical"
      sizes={isTall ? [45, 55] : [58, 42]}
      minimums={[200, 120]}
    >
      <SplitPane id="rewards.rows" sizes={[60, 40]} minimums={[320, 260]}>
        {editor}
        <div className="flex min-h-0 min-w-0 grow flex-col">{trial.pane}</div>
      </SplitPane>
      {open !== undefined && (
        <Tabs
          label="Results"
          tabs={all.map(({ tab }) => tab)}
          value={open.tab.id}
          onChange={view.openTab}
          className="flex flex-col"
        >
          {open.content}
        </Tabs>
      )}
    </SplitPane>
  )
}

/** Count beside a tab's name; hidden if 0. */
export const Count = ({ of: count }: { of: number }) =>
  count === 0 ? null : (
    <span className="rounded-full bg-raised px-1.5 text-xs text-muted tabular-nums">{count}</span>
  )

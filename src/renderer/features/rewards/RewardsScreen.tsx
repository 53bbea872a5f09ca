import { FileCode2 } from 'lucide-react'
import { besideClasses } from '#renderer/kit/classes.ts'
import { Page } from '#renderer/kit/Page.tsx'
import { EmptyState, ErrorNote, Loading } from '#renderer/kit/states.tsx'
import { BuiltInPage, GalleryWorkbench } from './GalleryWorkbench.tsx'
import { Library, NewButton } from './Library.tsx'
import { RewardDialogs } from './RewardDialogs.tsx'
import { findGalleryEntry } from './library.ts'
import { OwnWorkbench } from './OwnWorkbench.tsx'
import { useRewardsPlace } from './useRewardsPlace.ts'

/** Rewards and environments: the list, and one of them with its code, rows and results. */
export function RewardsScreen() {
  const place = useRewardsPlace()
  const { rewards, gallery, isLoaded, error, selected, models, drafts, actions, dialogs } = place
  const library = (
    <div className="flex w-52 shrink-0 flex-col border-r border-line narrow:max-h-56 narrow:w-full narrow:border-r-0 narrow:border-b">
      <Library rewards={rewards} gallery={gallery} selected={selected} drafts={drafts} actions={actions} />
    </div>
  )
  const own = rewards.find(({ id }) => id === selected)
  const entry = selected === null ? undefined : findGalleryEntry(selected, gallery)
  return (
    <>
      {own !== undefined && <OwnWorkbench key={own.id} reward={own} models={models} library={library} />}
      {entry !== undefined && entry.code !== null && (
        <GalleryWorkbench
          key={selected}
          entry={entry}
          models={models}
          library={library}
          onCopy={() => selected !== null && actions.duplicate(selected)}
        />
      )}
      {entry !== undefined && entry.code === null && (
        <BuiltInPage key={selected} entry={entry} library={library} />
      )}
      {own === undefined && entry === undefined && (
        <Page isFull title="Rewards" main={<NewButton onClick={actions.create} />}>
          <div className={besideClasses}>
            {isLoaded && library}
            <div className="min-w-0 grow">
              {error !== null && <ErrorNote error={error} className="m-4" />}
              {!isLoaded && error === null && <Loading label="Reading the library" />}
              {isLoaded && (
                <EmptyState
                  icon={<FileCode2 size={24} aria-hidden />}
                  title={
                    selected === null ? 'Say what a good completion is.' : 'There is no such reward any more.'
                  }
                  action={<NewButton onClick={actions.create} />}
                >
                  A few lines of code score each completion. Begin with your own, or open one of the gallery
                  on the left and make a copy.
                </EmptyState>
              )}
            </div>
          </div>
        </Page>
      )}
      <RewardDialogs rewards={rewards} gallery={gallery} dialogs={dialogs} />
    </>
  )
}

/** The icon beside the clock: how far training is while the window is hidden, and the way back to it. */
import path from 'node:path'
import { Menu, Tray, type MenuItemConstructorOptions } from 'electron'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import { activityOf, runLabel, type Activity, type TrainedRun } from './activity.ts'

export interface TrayWishes {
  readonly show: () => void
  readonly pause: (runId: string) => void
  readonly unpause: (runId: string) => void
  readonly quit: () => void
}

export interface TrayIcon {
  show(activity: Activity): void
}

export function createTray(wishes: TrayWishes): TrayIcon {
  // A template is drawn in the colour of the menu bar.
  const tray = new Tray(iconFile(process.platform === 'darwin' ? 'trayTemplate.png' : 'tray.png'))
  tray.on('click', wishes.show)
  const icon: TrayIcon = {
    show(activity) {
      tray.setToolTip(`Turnwise — ${activity.text}`)
      tray.setContextMenu(Menu.buildFromTemplate(trayTemplate(activity, wishes)))
    },
  }
  icon.show(activityOf([]))
  return icon
}

export function trayTemplate(
  { text, runs, keepsAwake }: Activity,
  wishes: TrayWishes,
): MenuItemConstructorOptions[] {
  return [
    { label: text, enabled: false },
    ...(keepsAwake ? [{ label: 'This machine stays awake while training', enabled: false }] : []),
    { type: 'separator' },
    { label: 'Show Turnwise', click: wishes.show },
    ...runs.flatMap((run) => holdItem(run, wishes)),
    { type: 'separator' },
    { label: 'Quit', click: wishes.quit },
  ]
}

function holdItem(run: TrainedRun, { pause, unpause }: TrayWishes): MenuItemConstructorOptions[] {
  if (run.activity === 'stopping') return []
  const isHeld = run.activity === 'pausing' || run.activity === 'paused'
  const label = `${isHeld ? 'Go on with' : 'Pause'} ${runLabel(run)}`
  return [{ label, click: () => (isHeld ? unpause : pause)(run.id) }]
}

/** A picture that comes with the program. */
export const iconFile = (name: string): string => path.join(resourcesDirectory, 'icons', name)

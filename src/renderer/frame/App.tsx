import { Toasts } from '#renderer/kit/Toasts.tsx'
import { CommandPalette } from './CommandPalette.tsx'
import { ConnectionRefused } from './ConnectionRefused.tsx'
import { DropTarget } from './DropTarget.tsx'
import { FileDialogs } from './FileDialogs.tsx'
import { KeySheet } from './KeySheet.tsx'
import { Rail } from './Rail.tsx'
import { ScreenOutlet } from './ScreenOutlet.tsx'
import { SkipLink } from './SkipLink.tsx'
import { StatusStrip } from './StatusStrip.tsx'
import { FirstRunGuide } from '#renderer/features/home/FirstRunGuide.tsx'
import { useNewDevices } from '#renderer/client/devices.ts'
import { useNews } from '#renderer/client/feeds.ts'
import { useKeyListener } from '#renderer/client/keys.ts'
import { useConnection, useLoadNews } from '#renderer/client/live.ts'
import { useDraftNews } from '#renderer/features/newRun/useDraft.ts'
import { useGlobalKeys, useShellEvents } from './usePlaces.ts'
import { useRunsNews } from '#renderer/client/runs.ts'
import { useThemeSetting } from '#renderer/client/themeSetting.ts'

export function App() {
  useNews()
  useRunsNews()
  useNewDevices()
  useLoadNews()
  useDraftNews()
  useThemeSetting()
  useKeyListener()
  useGlobalKeys()
  useShellEvents()
  const isRefused = useConnection(({ state }) => state === 'refused')
  return (
    <div className="flex h-full flex-col">
      <SkipLink />
      <div className="flex min-h-0 grow">
        <Rail />
        {isRefused ? <ConnectionRefused /> : <ScreenOutlet />}
      </div>
      <StatusStrip />
      <CommandPalette />
      <KeySheet />
      <FileDialogs />
      <FirstRunGuide />
      <DropTarget />
      <Toasts />
    </div>
  )
}

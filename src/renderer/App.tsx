import { Toasts } from './components/base/Toasts.tsx'
import { CommandPalette } from './components/frame/CommandPalette.tsx'
import { ConnectionRefused } from './components/frame/ConnectionRefused.tsx'
import { DropTarget } from './components/frame/DropTarget.tsx'
import { FileDialogs } from './components/frame/FileDialogs.tsx'
import { KeySheet } from './components/frame/KeySheet.tsx'
import { Rail } from './components/frame/Rail.tsx'
import { ScreenOutlet } from './components/frame/ScreenOutlet.tsx'
import { SkipLink } from './components/frame/SkipLink.tsx'
import { StatusStrip } from './components/frame/StatusStrip.tsx'
import { FirstRunGuide } from './components/home/FirstRunGuide.tsx'
import { useNewDevices } from './hooks/devices.ts'
import { useNews } from './hooks/feeds.ts'
import { useKeyListener } from './hooks/keys.ts'
import { useConnection, useLoadNews } from './hooks/live.ts'
import { useDraftNews } from './hooks/newRunDraft.ts'
import { useGlobalKeys, useShellEvents } from './hooks/places.ts'
import { useRunsNews } from './hooks/runs.ts'
import { useThemeSetting } from './hooks/theme.ts'

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

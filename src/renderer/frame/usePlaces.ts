/** Going to places by key, by menu of the shell, by palette. */
import { useEffect } from 'react'
import type { ShellEvent } from '#shared/bridge.ts'
import { places } from '#shared/keyTable.ts'
import { shell } from '#renderer/client/connection.ts'
import { useAddFile } from '#renderer/client/adding.ts'
import { useLatest } from '#renderer/client/api.tsx'
import { useKeys } from '#renderer/client/keys.ts'
import { goToNewRun, navigate } from '#renderer/client/route.ts'
import { toast } from '#renderer/client/toasts.ts'
import { useWindow } from '#renderer/client/window.ts'

export function useGlobalKeys(): void {
  const { openPalette, openKeySheet } = useWindow.getState()
  const { chooseAndAdd } = useAddFile()
  useKeys({
    ...Object.fromEntries(places.map(({ id, route }) => [id, () => navigate(route)])),
    palette: openPalette,
    keySheet: openKeySheet,
    newRun: goToNewRun,
    addData: chooseAndAdd,
  })
}

/** What a person did in the menu, the tray or the system. */
export function useShellEvents(): void {
  const latest = useLatest(useAddFile())
  useEffect(() => shell?.onEvent((event) => react(event, latest.current)), [latest])
}

function react(event: ShellEvent, { add, chooseAndAdd }: ReturnType<typeof useAddFile>): void {
  switch (event.type) {
    case 'new-run':
      goToNewRun()
      break
    case 'add-data':
      chooseAndAdd()
      break
    case 'show-keys':
      useWindow.getState().openKeySheet()
      break
    case 'show-palette':
      useWindow.getState().openPalette()
      break
    case 'open-file':
      add({ path: event.path, name: event.path.split(/[\\/]/).at(-1) ?? event.path })
      break
    case 'go':
      navigate(event.route)
      break
    case 'stopping':
      if (event.runs > 0) toast({ title: 'Stopping after this step; a checkpoint is kept.' })
  }
}

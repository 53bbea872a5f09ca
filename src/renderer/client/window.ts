/** State of dialogs and panels over the page. */
import { create } from 'zustand'

interface WindowState {
  readonly isPaletteOpen: boolean
  readonly isKeySheetOpen: boolean
  readonly openPalette: () => void
  readonly openKeySheet: () => void
  readonly closeAll: () => void
}

export const useWindow = create<WindowState>((set) => ({
  isPaletteOpen: false,
  isKeySheetOpen: false,
  openPalette: () => set({ isPaletteOpen: true, isKeySheetOpen: false }),
  openKeySheet: () => set({ isKeySheetOpen: true, isPaletteOpen: false }),
  closeAll: () => set({ isKeySheetOpen: false, isPaletteOpen: false }),
}))

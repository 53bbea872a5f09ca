/** Other programs whose settings are read or written here. */
export const toolIds = ['trl', 'agilerl', 'verl', 'areal'] as const
export type ToolId = (typeof toolIds)[number]

export const toolTitles: Readonly<Record<ToolId, string>> = {
  trl: 'TRL',
  agilerl: 'AgileRL',
  verl: 'verl',
  areal: 'AReaL',
}

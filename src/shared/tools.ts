/** Other programs whose settings are read here; runs are also written for TRL and AgileRL. */
export const toolIds = ['trl', 'agilerl', 'areal', 'llamafactory', 'axolotl'] as const
export type ToolId = (typeof toolIds)[number]

export const toolTitles: Readonly<Record<ToolId, string>> = {
  trl: 'TRL',
  agilerl: 'AgileRL',
  areal: 'AReaL',
  llamafactory: 'LLaMA-Factory',
  axolotl: 'axolotl',
}

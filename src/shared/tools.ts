/** Other programs whose settings are read here; runs are also written for TRL and AgileRL. */
export const toolIds = ['trl', 'agilerl', 'verl', 'areal', 'llamafactory', 'axolotl'] as const
export type ToolId = (typeof toolIds)[number]

export const toolTitles: Readonly<Record<ToolId, string>> = {
  trl: 'TRL',
  agilerl: 'AgileRL',
  verl: 'verl',
  areal: 'AReaL',
  llamafactory: 'LLaMA-Factory',
  axolotl: 'axolotl',
}

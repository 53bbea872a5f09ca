/** What a folder holds, by the names of its files; null: neither a model nor an adapter. */
export function modelIn(names: readonly string[]): 'Model' | 'Adapter' | null {
  if (names.includes('adapter_config.json')) return 'Adapter'
  const hasWeights = names.some((name) => name.endsWith('.safetensors'))
  return names.includes('config.json') && hasWeights ? 'Model' : null
}

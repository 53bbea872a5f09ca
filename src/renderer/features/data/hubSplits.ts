/** Which part of a data set on a hub is meant, while somebody chooses. */
import type { Answer } from '#renderer/client/api.tsx'

type Config = Answer<'datasets.listOnHub'>['configs'][number]

export interface HubChoice {
  readonly config?: string
  readonly split?: string
}

export interface HubSplit {
  readonly config: Config
  readonly split: Config['splits'][number]
}

/** What is not chosen, or not there, is the usual one: the first config, the training rows. null where there is nothing. */
export function chosenSplit(configs: readonly Config[], choice: HubChoice): HubSplit | null {
  const config = configs.find(({ name }) => name === choice.config) ?? configs[0]
  const splits = config?.splits ?? []
  const named = (wanted: string | undefined) => splits.find(({ name }) => name === wanted)
  const split = named(choice.split) ?? named('train') ?? splits[0]
  return config === undefined || split === undefined ? null : { config, split }
}

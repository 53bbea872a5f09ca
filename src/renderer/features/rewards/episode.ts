/** Assembles the progress of a workflow's episode, item by item, into requests with their answers. */
import type { Answer } from '#renderer/client/api.tsx'

export type TrialItem = Answer<'workflows.try'>
type Item<Type extends TrialItem['type']> = Extract<TrialItem, { type: Type }>

export type EpisodeEnd = Item<'end'>
export type EpisodeTrajectory = EpisodeEnd['trajectories'][number]
export type EpisodeCompletion = Item<'completions'>['completions'][number]

export interface EpisodeRequest extends Item<'request'> {
  /** Null: not known yet, or a request to a tool. */
  readonly prompt: Item<'prompt'> | null
  readonly completions: readonly EpisodeCompletion[] | null
  /** Answer of a tool. */
  readonly answer: Item<'answer'> | null
}

/** Lines printed by the code, with the number of requests made before them. */
export interface PrintedLines {
  readonly after: number
  readonly lines: readonly string[]
}

export interface Episode {
  readonly requests: readonly EpisodeRequest[]
  readonly printed: readonly PrintedLines[]
  readonly failed: Item<'failed'> | null
  readonly end: EpisodeEnd | null
}

export function episodeOf(items: readonly TrialItem[]): Episode {
  const of = <Type extends TrialItem['type']>(type: Type) =>
    items.filter((item): item is Item<Type> => item.type === type)
  const prompts = byNumber(of('prompt'))
  const completions = byNumber(of('completions'))
  const answers = byNumber(of('answer'))
  const requests = of('request').map((request) => ({
    ...request,
    prompt: prompts.get(request.number) ?? null,
    completions: completions.get(request.number)?.completions ?? null,
    answer: answers.get(request.number) ?? null,
  }))
  return {
    requests,
    printed: printedIn(items),
    failed: of('failed').at(-1) ?? null,
    end: of('end').at(-1) ?? null,
  }
}

const byNumber = <Told extends { readonly number: number }>(told: readonly Told[]) =>
  new Map(told.map((item) => [item.number, item]))

function printedIn(items: readonly TrialItem[]): PrintedLines[] {
  let after = 0
  return items.flatMap((item) => {
    if (item.type === 'request') after++
    return item.type === 'printed' ? [{ after, lines: item.lines }] : []
  })
}

/** Truncates an episode to `steps` requests, and its end to one step more; null: everything. */
export function upTo(episode: Episode, steps: number | null): Episode {
  if (steps === null) return episode
  const { requests, printed, failed, end } = episode
  const isOver = steps > requests.length
  return {
    requests: requests.slice(0, steps),
    printed: printed.filter(({ after }) => after < steps),
    failed: isOver ? failed : null,
    end: isOver ? end : null,
  }
}

/** Splits a request into its messages and its sampling options. */
export function saidOf({ said }: Pick<EpisodeRequest, 'said'>): {
  readonly messages: readonly { readonly role: string; readonly content: string }[]
  readonly options: readonly string[]
} {
  const { messages = [], ...options } = said as {
    readonly messages?: readonly { readonly role: string; readonly content: string }[]
  }
  return {
    messages,
    options: Object.entries(options).map(([name, value]) => `${name} ${JSON.stringify(value)}`),
  }
}

/** Trajectories of a session: the calls that an agent made, joined into trajectories by the tokens they begin with. */
import type { ReturnedTrajectory } from '#rl/rollout/workflow.ts'

/** A completion that an agent asked for and got. */
export interface SessionCall {
  readonly promptIds: readonly number[]
  readonly ids: readonly number[]
  /** Reward of this call alone; null: none was given. */
  readonly reward: number | null
}

interface Node {
  readonly call: SessionCall
  /** Prompt and completion. */
  readonly allIds: readonly number[]
  readonly parent: Node | null
  isContinued: boolean
}

/**
 * Joins calls, in their order, into trajectories: a call whose prompt begins with all tokens of an earlier one goes on from the
 * longest such call. A conversation is thus one trajectory, and one that branches has a trajectory for each end. Every call
 * is learned from once: in the first trajectory it is part of.
 */
export function sessionTrajectories(
  calls: readonly SessionCall[],
): Pick<ReturnedTrajectory, 'ids' | 'actions' | 'turnRewards'>[] {
  const nodes: Node[] = []
  for (const call of calls) {
    if (call.ids.length === 0) continue
    const parent = longestBefore(call.promptIds, nodes)
    if (parent !== null) parent.isContinued = true
    nodes.push({ call, parent, allIds: [...call.promptIds, ...call.ids], isContinued: false })
  }
  const learned = new Set<Node>()
  return nodes
    .filter(({ isContinued }) => !isContinued)
    .map((end) => {
      const own = pathTo(end).filter((node) => !learned.has(node))
      for (const node of own) learned.add(node)
      return { ids: end.allIds, ...turnsOf(own) }
    })
}

function longestBefore(promptIds: readonly number[], nodes: readonly Node[]): Node | null {
  return nodes.reduce<Node | null>((longest, node) => {
    const { length } = node.allIds
    const isBefore = length <= promptIds.length && node.allIds.every((id, i) => id === promptIds[i])
    return isBefore && length >= (longest?.allIds.length ?? 0) ? node : longest
  }, null)
}

function pathTo(end: Node): Node[] {
  const path: Node[] = []
  for (let node: Node | null = end; node !== null; node = node.parent) path.unshift(node)
  return path
}

/** Spans of calls, and their rewards where any has one; calls with nothing between them are one turn. */
function turnsOf(nodes: readonly Node[]): Pick<ReturnedTrajectory, 'actions' | 'turnRewards'> {
  const turns: { start: number; end: number; reward: number | null }[] = []
  for (const { call, allIds } of nodes) {
    const { length: start } = call.promptIds
    const last = turns.at(-1)
    if (last?.end !== start) turns.push({ start, end: allIds.length, reward: call.reward })
    else {
      last.end = allIds.length
      if (call.reward !== null) last.reward = (last.reward ?? 0) + call.reward
    }
  }
  const rewards = turns.map(({ reward }) => reward)
  return {
    actions: turns.map(({ start, end }) => [start, end] as const),
    ...(rewards.every((reward) => reward === null) ? {} : { turnRewards: rewards }),
  }
}

/**
 * Many tokens in one run, for devices that give back every tensor after each run: the cache goes up once for all of them, the
 * id of one turn is what the next turn reads, and only what chose the ids and the new keys and values come down.
 *
 * The graph proposes ids from fed random numbers in f32; whoever runs it chooses again from what comes down, in f64, and
 * does not go on from a turn where the two differ (a number within rounding of a boundary).
 */
import type { Carried, LoopProgram } from '../ops/branches.ts'
import type { Dim } from '../graph/shape.ts'
import { type Value, constant, input, integers } from '../graph/value.ts'
import { HIDDEN } from '../ops/attention.ts'
import { add, mul, scale, sub, cast } from '../ops/arithmetic.ts'
import { atMost, cumulativeSum, isAtMost } from '../ops/choice.ts'
import { gather } from '../ops/gather.ts'
import { addIntegers, reshape, splitSizes } from '../ops/layout.ts'
import { reduceMax, reduceSum, zeros } from '../ops/reduce.ts'
import type { LoraConfig, ModelConfig } from './config.ts'
import { withLatest } from './deviceGeneration.ts'
import { decoderScores, embeddedIds, type DeviceWeights } from './generationGraph.ts'
import type { LatestState } from './layerStates.ts'
import { latestInput, ofWindow, pastSlots, refuseMatrix, withNewest } from './stateInputs.ts'
import type { KeyValue } from './cachedAttention.ts'
import { choiceWidth } from './tokenChoice.ts'

/** Names of the loop's own inputs; beside them it reads those of a decode step. W are the most turns. */
export const loopNames = {
  /** [1] i64 */
  turns: 'turns',
  /** [B] and [B, 1] i64: each row's latest id and its position. */
  ids: 'ids',
  positions: 'positions',
  /** [T, B, 1] in [0, 1 − 2⁻²³] */
  uniforms: 'uniforms of turns',
  /** [1]: 1 chooses the most probable id, 0 samples. */
  greedy: 'greedy',
  /** [4] i64: B, K, W, C */
  latest: 'latest lengths',
  /** [B, 1] ones, and how many more ids each row may get. */
  open: 'open',
  room: 'room',
  /** [1, S] ids that end a row; −1 where there are fewer. */
  stops: 'stop ids',
} as const

/** [B, 1, 1, P + W] the position of the token in each slot of a window; empty slots are after all positions. */
export const placesName = (window: number): string => `slot places ${window}`

/**
 * Outputs: `choice` [T, B, W′ + 3], `best` [T, B, 2] the likeliest id and its probability, `ids` [T, B, 1] those that the next
 * turn went on with, `latest key i` and `latest value i` [B, K, W, C], and `latest convolved i` [T, B, 1, 1, D] of layers
 * that convolve. T ends when all rows have ended. Null where the vocabulary cannot be cut into blocks.
 *
 * More turns wait longer for rows that have ended, fewer bring the cache up more often.
 */
export function decodeLoop(
  config: ModelConfig,
  lora: LoraConfig | null,
  weights: DeviceWeights,
  maxTurns: number,
): LoopProgram | null {
  const width = choiceWidth(config.vocabSize)
  if (width === null) return null
  const row = (name: string) => input(name, 'float32', ['B', 1])
  const ids = input('turn ids', 'int64', ['B'])
  const positions = input('turn positions', 'int64', ['B', 1])
  const turn = input('turn', 'int64', [1])
  const open = row('turn open')
  const uniforms = reshape(gather(input(loopNames.uniforms, 'float32', ['T', 'B', 1]), turn), ['B', 1])
  const latest = latestSlots(config, maxTurns)
  const flags = latestFlags(turn, maxTurns)
  const grown: KeyValue[] = []
  const convolved = latestCarried()
  const scores = decoderScores(config, lora, weights, {
    hidden: embeddedIds(config, weights, { ids, positions }),
    positions,
    masks: masksAt(config, positions),
    uniforms,
    see(layer, fresh) {
      grown[layer] = withLatest(latest[layer]!.read, fresh, flags)
      return [pastSlots(config, layer), grown[layer]]
    },
    recall: (state, fresh) => convolved.recall(state, fresh),
    remember: refuseMatrix,
  })
  const chosen = chosenId({ choice: scores.choice!, width, uniforms, best: scores.best })
  const stays = stillOpen(open, chosen, turn)
  const carried = {
    ...rowsCarried({ ids, positions, turn, open, chosen, stays }),
    ...slotsCarried(latest, grown),
    ...convolved.carried,
  }
  return {
    turns: input(loopNames.turns, 'int64', [1]),
    carried,
    goesOn: isAtMost(constant([1], [1]), reshape(reduceSum(stays, [0]), [1])),
    stacked: {
      choice: scores.choice!,
      best: scores.best,
      ids: chosen,
      ...convolved.stacked,
    },
    last: Object.keys(carried).filter((name) => name.startsWith('latest ')),
  }
}

/** The loop's state: each row's and its own. */
function rowsCarried(
  values: Readonly<Record<'ids' | 'positions' | 'turn' | 'open' | 'chosen' | 'stays', Value>>,
): Record<string, Carried> {
  const { ids, positions, turn, open, chosen, stays } = values
  const fed = (name: string, read: Value) => ({ initial: input(name, read.dtype, read.shape), read })
  return {
    ids: { ...fed(loopNames.ids, ids), next: reshape(cast(chosen, 'int64'), ['B']) },
    positions: { ...fed(loopNames.positions, positions), next: addIntegers(positions, integers([1])) },
    turn: { initial: integers([0]), read: turn, next: addIntegers(turn, integers([1])) },
    open: { ...fed(loopNames.open, open), next: stays },
  }
}

/** The latest positions of short convolutions, each turn handing them on, and the new ones of every turn. */
function latestCarried() {
  const stacked: Record<string, Value> = {}
  const carried: Record<string, Carried> = {}
  return {
    stacked,
    carried,
    recall(state: LatestState, fresh: Value): Value {
      const [initial, read] = [latestInput(state, 'past '), latestInput(state, 'turn ')]
      stacked[`latest ${state.name}`] = fresh
      carried[state.name] = { initial, read, next: withNewest(state, read, fresh) }
      return read
    },
  }
}

type LatestSlots = ReturnType<typeof latestSlots>

function slotsCarried(latest: LatestSlots, grown: readonly KeyValue[]): Record<string, Carried> {
  return Object.fromEntries(
    latest.flatMap(({ initial, read }, layer) =>
      grown[layer] === undefined
        ? []
        : (['key', 'value'] as const).map((kind) => [
            `latest ${kind} ${String(layer)}`,
            { initial, read: read[kind], next: grown[layer]![kind] },
          ]),
    ),
  )
}

/** Builds each layer's latest slots, initially zero: empty slots are masked, but their values must be finite. */
function latestSlots({ layers, kvHeads, headDim }: ModelConfig, maxTurns: number) {
  const shape: readonly Dim[] = ['B', kvHeads, maxTurns, headDim]
  const initial = zeros(input(loopNames.latest, 'int64', [4]), shape)
  return Array.from({ length: layers }, (_, layer) => {
    const of = (name: string) => input(`turn latest ${name} ${String(layer)}`, 'float32', shape)
    return { initial, read: { key: of('key'), value: of('value') } }
  })
}

/** Builds the flags by which each turn fills the slot with its own index. */
function latestFlags(turn: Value, maxTurns: number) {
  const slots = constant(
    Array.from({ length: maxTurns }, (_, slot) => slot),
    [1, 1, maxTurns, 1],
  )
  const at = reshape(cast(turn, 'float32'), [1, 1, 1, 1])
  const fresh = sub(atMost(slots, at), atMost(slots, sub(at, constant([1], [1]))))
  return { fresh, kept: sub(constant([1], [1]), fresh) }
}

/** Builds the attention mask of each window: [B, 1, 1, P + W]. */
function masksAt({ windows }: ModelConfig, positions: Value): Value[] {
  const own = reshape(cast(positions, 'float32'), ['B', 1, 1, 1])
  const one = constant([1], [1])
  return windows.map((window, index) => {
    const places = input(placesName(index), 'float32', ['B', 1, 1, ofWindow('M', index)])
    const upToOwn = atMost(places, own)
    const seen =
      window === null ? upToOwn : mul(upToOwn, sub(one, atMost(places, sub(own, constant([window], [1])))))
    return scale(sub(one, seen), HIDDEN)
  })
}

interface Chances {
  /** [B, W′ + 3] */
  readonly choice: Value
  /** W′ */
  readonly width: number
  /** [B, 1] */
  readonly uniforms: Value
  /** [B, 2] */
  readonly best: Value
}

/** [B, 1] f32, which holds every id exactly: vocabularies have fewer than 2²⁴. */
function chosenId({ choice, width, uniforms, best }: Chances): Value {
  const [block, number, before, total] = splitSizes(choice, 1, [width, 1, 1, 1]) as [
    Value,
    Value,
    Value,
    Value,
  ]
  const target = sub(mul(uniforms, total), before)
  // The last of the block where rounding leaves the sum short of the target.
  const [sums] = splitSizes(cumulativeSum(block), 1, [width - 1, 1]) as [Value, Value]
  const drawn = add(scale(number, width), reduceSum(atMost(sums, target), [-1]))
  const [likeliest] = splitSizes(best, 1, [1, 1]) as [Value, Value]
  return add(drawn, mul(input(loopNames.greedy, 'float32', [1]), sub(likeliest, drawn)))
}

/** 1 for rows that were open and have neither chosen a stop id nor reached their limit. */
function stillOpen(open: Value, chosen: Value, turn: Value): Value {
  const one = constant([1], [1])
  const difference = sub(chosen, input(loopNames.stops, 'float32', [1, 'S']))
  const isStop = reduceMax(atMost(mul(difference, difference), constant([0.25], [1])), [-1])
  const tokens = add(reshape(cast(turn, 'float32'), [1, 1]), one)
  const isFull = atMost(input(loopNames.room, 'float32', ['B', 1]), tokens)
  return mul(mul(open, sub(one, isStop)), sub(one, isFull))
}

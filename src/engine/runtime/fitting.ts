/**
 * Finds by trying what fits on a device: work that runs out of memory is split in half, and later batches are no larger
 * than what fitted. Nothing of a failed attempt is kept, so the results are those of smaller batches.
 */
import { AppError } from '#shared/errors.ts'
import { noun, plural } from '#shared/plural.ts'
import type { Completion, GenerateOptions, GenerationRequest, Heads, LossCoefficients } from '../policy.ts'

const isOutOfDeviceMemory = (error: unknown): boolean =>
  error instanceof AppError && error.code === 'device/out-of-memory'

/** Sizes that a device was found to hold, kept for as long as a policy is open. */
export class FittingSizes {
  /** Maximum tokens learned from or scored at once, and maximum rows that decode together. */
  tokens = Infinity
  rows = Infinity
  /** The largest number of tokens that has been learned from without running out of memory. */
  provenTokens = 0
  #notes: string[] = []

  halveTokens(tried: number): void {
    this.tokens = Math.min(this.tokens, Math.max(1, Math.floor(tried / 2)))
    this.#say(plural(tried, 'token'), `at most ${plural(this.tokens, 'token')} at once`)
  }

  halveRows(tried: number): void {
    this.rows = Math.max(1, Math.floor(tried / 2))
    this.#say(plural(tried, 'row'), `at most ${String(this.rows)} ${noun(this.rows, 'row')} together`)
  }

  /** Notes that one sequence did not fit, and that learning programs now have at most this many layers. */
  shortened(layers: number): void {
    this.#say('one sequence', `at most ${plural(layers, 'layer')} at once`)
  }

  #say(tried: string, now: string): void {
    this.#notes.push(`The device ran out of memory with ${tried}; it continues with ${now}.`)
  }

  /** Returns the notes to report since the last call. */
  takeNotes(): string[] {
    const notes = this.#notes
    this.#notes = []
    return notes
  }
}

/** A micro-batch, or a part of it, by the indices of its sequences. */
export interface FittingWork {
  readonly sizes: FittingSizes
  /** Tokens computed for these sequences. */
  readonly cost: (places: readonly number[]) => number
  readonly run: (
    places: readonly number[],
    coefficients: (heads: readonly Heads[]) => readonly LossCoefficients[],
  ) => Promise<Heads[]>
  /** Saves the current gradients; the function it returns restores them. */
  readonly keepGradients: () => Promise<() => void>
  /** Cuts the programs into shorter ones; false where they cannot be any shorter. */
  readonly shorten: () => boolean
}

type Ask = (heads: readonly Heads[]) => readonly LossCoefficients[]

/** Learns from all of them as one micro-batch, in as many parts as fit. Errors: as `run`; of one sequence also that it does not fit. */
export async function learnFitting(places: readonly number[], work: FittingWork, ask: Ask): Promise<Heads[]> {
  let known: { heads: readonly Heads[]; coefficients: readonly LossCoefficients[] } | null = null
  const whole = await tried(places, work, (heads) => {
    const coefficients = known?.coefficients ?? ask(heads)
    known = { heads, coefficients }
    return coefficients
  })
  if (whole !== null) return whole
  const answered = known as { heads: readonly Heads[]; coefficients: readonly LossCoefficients[] } | null
  const heads = answered?.heads ?? (await headsOf(work, places))
  const coefficients = answered?.coefficients ?? ask(heads)
  for (const part of halves(places.map((_, at) => at))) {
    const given = part.map((at) => coefficients[at] ?? missing())
    await learnGiven(
      part.map((at) => places[at] ?? missing()),
      work,
      given,
    )
  }
  return [...heads]
}

async function learnGiven(
  places: readonly number[],
  work: FittingWork,
  coefficients: readonly LossCoefficients[],
): Promise<void> {
  if ((await tried(places, work, () => coefficients)) !== null) return
  const [first, second] = halves(places)
  await learnGiven(first, work, coefficients.slice(0, first.length))
  await learnGiven(second, work, coefficients.slice(first.length))
}

/** Cuts the programs when a single sequence did not fit. Errors: the one given, where they cannot be cut further. */
function isShortened(
  places: readonly number[],
  { shorten }: Pick<FittingWork, 'shorten'>,
  error: unknown,
): boolean {
  if (places.length > 1) return false
  if (!shorten()) throw error
  return true
}

/** null if it does not fit, in which case nothing was learned. */
async function tried(places: readonly number[], work: FittingWork, ask: Ask): Promise<Heads[] | null> {
  const { sizes, cost, run, keepGradients } = work
  const tokens = cost(places)
  if (tokens > sizes.tokens && places.length > 1) return null
  const putBack = tokens > sizes.provenTokens ? await keepGradients() : () => undefined
  try {
    const heads = await run(places, ask)
    sizes.provenTokens = Math.max(sizes.provenTokens, tokens)
    return heads
  } catch (error) {
    if (!isOutOfDeviceMemory(error)) throw error
    putBack()
    if (places.length === 1) {
      // Work that fitted before may have added to the gradients, of which nobody kept a copy.
      if (tokens <= sizes.provenTokens || !work.shorten()) throw error
      return tried(places, work, ask)
    }
    sizes.halveTokens(tokens)
    return null
  }
}

/** Aborts a pass before anything is learned. */
class Seen extends Error {
  readonly heads: readonly Heads[]
  constructor(heads: readonly Heads[]) {
    super('Seen.')
    this.heads = heads
  }
}

/** The heads that learning from them would report, without learning. */
const headsOf = ({ run, ...work }: FittingWork, places: readonly number[]): Promise<Heads[]> =>
  scoreFitting(places, {
    ...work,
    async score(some) {
      try {
        return await run(some, (heads) => {
          throw new Seen(heads)
        })
      } catch (error) {
        if (error instanceof Seen) return [...error.heads]
        throw error
      }
    },
  })

/** Scores them in as many parts as fit. Errors: as `score`. */
export async function scoreFitting(
  places: readonly number[],
  work: Pick<FittingWork, 'sizes' | 'cost' | 'shorten'> & {
    readonly score: (places: readonly number[]) => Promise<Heads[]>
  },
): Promise<Heads[]> {
  const { sizes, cost, score } = work
  const tokens = cost(places)
  if (tokens <= sizes.tokens || places.length === 1) {
    try {
      return await score(places)
    } catch (error) {
      if (!isOutOfDeviceMemory(error)) throw error
      if (isShortened(places, work, error)) return scoreFitting(places, work)
      sizes.halveTokens(tokens)
    }
  }
  const [first, second] = halves(places)
  return [...(await scoreFitting(first, work)), ...(await scoreFitting(second, work))]
}

type Arrivals = Pick<GenerateOptions, 'onToken' | 'later'>

type Generate = (
  requests: readonly GenerationRequest[],
  rows: number,
  arrivals: Arrivals,
) => AsyncGenerator<Completion>

type Place = Pick<Completion, 'request' | 'sample'>

/** Requests that remain to be generated; further ones may be added. */
class OpenRequests {
  readonly #asked: GenerationRequest[] = []
  /** Samples without a completion, by request. */
  readonly #open: number[][] = []
  /** Number of tokens of each sample already reported. */
  readonly #told = new Map<string, number>()
  readonly #arrivals: Arrivals
  #mayCome: boolean

  constructor(requests: readonly GenerationRequest[], arrivals: Arrivals) {
    this.#arrivals = arrivals
    this.#mayCome = arrivals.later !== undefined
    for (const request of requests) this.#add(request)
  }

  #add(request: GenerationRequest): number {
    this.#open.push([...request.streams.keys()])
    return this.#asked.push(request) - 1
  }

  finish({ request, sample }: Place): void {
    this.#open[request] = (this.#open[request] ?? []).filter((other) => other !== sample)
  }

  /** The rest as requests of their own, and where each of their samples belongs. */
  attempt() {
    const wanted = [...this.#open.keys()].filter((request) => this.#open[request]?.length)
    const samples = wanted.map((request) => [...(this.#open[request] ?? [])])
    const requests = wanted.map((request, at) => pick(this.#asked[request] ?? missing(), samples[at] ?? []))
    const placeOf = ({ request: at, sample }: Place): Place => ({
      request: wanted[at] ?? missing(),
      sample: samples[at]?.[sample] ?? missing(),
    })
    const take = (request: GenerationRequest): void => {
      wanted.push(this.#add(request))
      samples.push([...request.streams.keys()])
    }
    const rows = this.#mayCome ? Infinity : samples.flat().length
    return { requests, rows, placeOf, arrivals: { ...this.#hearing(placeOf), ...this.#taking(take) } }
  }

  /** Reports each token once, however often it is generated. */
  #hearing(placeOf: (place: Place) => Place): Arrivals {
    const { onToken } = this.#arrivals
    if (!onToken) return {}
    const heard = new Map<string, number>()
    return {
      onToken: (token) => {
        const place = placeOf(token)
        const key = `${String(place.request)} ${String(place.sample)}`
        const count = (heard.get(key) ?? 0) + 1
        heard.set(key, count)
        if (count <= (this.#told.get(key) ?? 0)) return
        this.#told.set(key, count)
        onToken({ ...token, ...place })
      },
    }
  }

  #taking(take: (request: GenerationRequest) => void): Arrivals {
    const { later } = this.#arrivals
    if (!later || !this.#mayCome) return {}
    return {
      later: async (isIdle) => {
        const arriving = await later(isIdle)
        if (arriving === null) this.#mayCome = false
        arriving?.forEach(take)
        return arriving
      },
    }
  }
}

/**
 * Generates with as many rows as fit: finished completions stay, the others start again. Their ids are the same, since
 * each is chosen by a number of its own stream, so `onToken` is called once for each.
 */
export async function* generateFitting(
  requests: readonly GenerationRequest[],
  { sizes, maxRows, ...given }: Arrivals & { sizes: FittingSizes; maxRows: number },
  generate: Generate,
): AsyncGenerator<Completion> {
  const open = new OpenRequests(requests, given)
  for (;;) {
    const { requests: rest, placeOf, arrivals, rows: wanted } = open.attempt()
    const rows = Math.min(maxRows, sizes.rows, wanted)
    try {
      for await (const completion of generate(rest, Math.max(1, rows), arrivals)) {
        const place = placeOf(completion)
        open.finish(place)
        yield { ...completion, ...place }
      }
      return
    } catch (error) {
      if (!isOutOfDeviceMemory(error) || rows <= 1) throw error
      sizes.halveRows(rows)
    }
  }
}

const pick = ({ streams, ...request }: GenerationRequest, samples: readonly number[]): GenerationRequest => ({
  ...request,
  streams: samples.map((sample) => streams[sample] ?? missing()),
})

function halves<T>(items: readonly T[]): [T[], T[]] {
  const middle = Math.ceil(items.length / 2)
  return [items.slice(0, middle), items.slice(middle)]
}

const missing = (): never => {
  throw new Error('Expected a place of every sequence.')
}

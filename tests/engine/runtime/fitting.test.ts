/** A device that runs out of memory: planted into the whole programs that devices run, here on the CPU. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { AppError } from '#shared/errors.ts'
import { randomStream } from '#shared/random.ts'
import type { OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { Session } from '#engine/runtime/session.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { largestDifference } from './differences.ts'
import {
  completionsOf,
  flatGradient,
  openCritic,
  randomCoefficients,
  randomSequence,
  tinyLora,
  tinySource,
  unfiltered,
  withValues,
} from './tinyModel.ts'

const folder = temporaryFolder()
const source = await tinySource(folder, { layers: 3 })
const open = () =>
  openCritic(source, {
    lora: { ...tinyLora, dropout: 0.2 },
    maxRows: 8,
    programs: { form: 'shared', segmentLayers: 1 },
  })
const sequences = [9, 12, 7, 11, 10].map((length, index) => randomSequence(258, length, index))
const coefficients = withValues(randomCoefficients(sequences, 3, true), sequences, 4)

afterEach(() => vi.restoreAllMocks())

/** Runs of sessions whose name fits fail above so many ids, `times` times; the k-th run that would fail is the first that does. */
function plant(name: RegExp, most: number, after = 0, times = Infinity): { failures: number } {
  const seen = { failures: 0 }
  let would = 0
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called with the session it belongs to
  const right = Session.prototype.runTensors
  vi.spyOn(Session.prototype, 'runTensors').mockImplementation(function (this: Session, feeds, want) {
    // Where programs share a session, their inputs of one name may have different shapes and so other names.
    const counts = Object.entries(feeds).map(([input, { dims }]) => (/^ids/.test(input) ? dims[0]! : 0))
    const ids = Math.max(...counts)
    if (name.test(this.name) && ids > most && seen.failures < times && would++ >= after) {
      seen.failures++
      throw new AppError('device/out-of-memory', 'Too little memory.')
    }
    return right.call(this, feeds, want)
  })
  return seen
}

async function learned(policy: OrtPolicy) {
  const asked: number[] = []
  const options = { temperature: 0.8, entropyGradient: true }
  const heads = await policy.accumulate(sequences, options, (all) => {
    asked.push(all.length)
    return coefficients
  })
  return { asked, heads, actor: await flatGradient(policy), critic: await flatGradient(policy, 'critic') }
}

describe('learning', () => {
  test.each([
    ['the forward pass', /forward 0/, 0],
    ['the head', /^score/, 0],
    ['the way back of the last segment', /^learnEntropy/, 0],
    ['the way back of the first segment, when others have added their gradients', /backward 0/, 0],
    ['the way back of the actor, when the critic has added its gradient', /backward 1/, 1],
  ])('%s does not fit: halves give the same gradients, heads and masks', async (_, name, after) => {
    using whole = await open()
    const expected = await learned(whole)
    using policy = await open()
    const seen = plant(name, 25, after)
    const actual = await learned(policy)
    expect(seen.failures).toBeGreaterThan(0)
    expect(actual.asked).toEqual([sequences.length]) // the loss sees all of them, once
    expect(largestDifference(actual.actor, expected.actor)).toBeLessThan(1e-4)
    expect(largestDifference(actual.critic, expected.critic)).toBeLessThan(1e-4)
    actual.heads.forEach((head, index) => {
      expect(largestDifference(head.logprobs, expected.heads[index]!.logprobs)).toBeLessThan(1e-5)
    })
    const [note, ...more] = policy.takeNotes()
    expect(note).toMatch(
      /^The device ran out of memory with \d+ tokens; it continues with at most \d+ tokens at once\.$/,
    )
    expect([more.length, policy.takeNotes()]).toEqual([0, []])
    // What was found holds: the next micro-batch is not tried whole.
    const failures = seen.failures
    policy.discardGradients()
    await learned(policy)
    expect(seen.failures).toBe(failures)
  })

  test('scores come in halves too', async () => {
    using policy = await open()
    const expected = await policy.score(sequences, { role: 'reference', temperature: 1 })
    const seen = plant(/^score/, 12)
    const actual = await policy.score(sequences, { role: 'reference', temperature: 1 })
    expect(seen.failures).toBeGreaterThan(0)
    actual.forEach((head, index) => {
      expect(largestDifference(head.logprobs, expected[index]!.logprobs)).toBeLessThan(1e-5)
    })
  })

  test('one sequence that does not fit ends it, and leaves no gradient', async () => {
    using policy = await open()
    plant(/^learnEntropy/, 10)
    await expect(learned(policy)).rejects.toMatchObject({ code: 'device/out-of-memory' })
  })
})

test.each(['shared', 'resident'] as const)(
  'one sequence that does not fit is computed in shorter segments, %s: the same gradients, and the loss is asked once',
  async (form) => {
    const [one] = sequences
    const wanted = coefficients.slice(0, 1)
    const learnOne = async (policy: OrtPolicy) => {
      let asked = 0
      await policy.accumulate([one!], { temperature: 0.8, entropyGradient: true }, () => {
        asked++
        return wanted
      })
      return { asked, actor: await flatGradient(policy), critic: await flatGradient(policy, 'critic') }
    }
    const openWhole = () => openCritic(source, { programs: { form } })
    using expectedPolicy = await openWhole()
    const expected = await learnOne(expectedPolicy)
    using policy = await openWhole()
    // The critic has added its gradient by then.
    const seen = plant(/^(model|learnEntropy)/, 4, form === 'resident' ? 3 : 0, 1)
    const actual = await learnOne(policy)
    expect(seen.failures).toBe(1)
    expect(actual.asked).toBe(1)
    expect(largestDifference(actual.actor, expected.actor)).toBeLessThan(1e-4)
    expect(largestDifference(actual.critic, expected.critic)).toBeLessThan(1e-4)
    expect(policy.takeNotes()).toEqual([
      'The device ran out of memory with one sequence; it continues with at most 2 layers at once.',
    ])
  },
)

test('rows that do not fit decode in halves: the same ids, and each is told once', async () => {
  const requests = [3, 9, 1].map((length, index) => ({
    promptIds: randomSequence(258, length + 1, index).ids.slice(0, length),
    streams: [0, 1].map((sample) => randomStream(7, index, sample)),
  }))
  const told: string[] = []
  const onToken = ({ request, sample, id }: { request: number; sample: number; id: number }) =>
    told.push(`${request} ${sample} ${id}`)
  const generate = (policy: OrtPolicy) =>
    completionsOf(policy, requests, { role: 'actor', sampling: { ...unfiltered, maxNewTokens: 12 }, onToken })
  using whole = await open()
  const expected = await generate(whole)
  const expectedTold = told.splice(0).toSorted()
  using policy = await open()
  const seen = plant(/^decode/, 2, 3)
  const actual = await generate(policy)
  expect(seen.failures).toBeGreaterThan(0)
  expect(actual.map(({ ids }) => [...ids])).toEqual(expected.map(({ ids }) => [...ids]))
  expect(told.toSorted()).toEqual(expectedTold)
  expect(policy.takeNotes().at(-1)).toMatch(/continues with at most \d rows? together\.$/)
})

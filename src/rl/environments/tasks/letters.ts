import { defineTask, judged, lastInteger } from './common.ts'
import { parsedJson } from '#shared/parsedJson.ts'
import type { SequentialRandom } from '#shared/random.ts'

/** Words with letters that occur twice or more: models miscount those. */
const words = [
  'strawberry', 'banana', 'mississippi', 'bookkeeper', 'committee', 'assessment', 'possession', 'raspberry',
  'cookbook', 'parallel', 'tattoo', 'referee', 'balloon', 'coffee', 'address', 'engineering', 'millennium',
  'occurrence', 'embarrass', 'accommodate', 'tomorrow', 'pineapple', 'butterfly', 'cinnamon', 'dandelion',
  'elephant', 'festival', 'giraffe', 'hippopotamus', 'illusion', 'jellyfish', 'kangaroo', 'lollipop',
  'marshmallow', 'necessary', 'opossum', 'passenger', 'quarrel', 'rhinoceros', 'successful', 'television',
  'umbrella', 'vacuum', 'whirlpool', 'xylophone', 'yellow', 'zucchini', 'abracadabra', 'barbecue', 'chocolate',
] // prettier-ignore

/** Asks how often a letter stands in a word. Columns `word` and `letter` of a row are taken instead. */
export const letterCounting = defineTask({
  id: 'letter-counting',
  description: 'How often does a letter stand in a word? 1 for the right number, else 0.',
  settings: {},
  create: () => ({
    maxTurns: 1,
    reset({ row, random }) {
      const drawn = words[random.integer(words.length)]!
      const word = typeof row['word'] === 'string' ? row['word'] : drawn
      // Now and then a letter that is not there at all.
      const pool = random.integer(8) === 0 ? 'abcdefghijklmnopqrstuvwxyz' : word
      const letters = [...pool]
      const picked = letters[random.integer(letters.length)] ?? 'a'
      const letter = typeof row['letter'] === 'string' ? row['letter'] : picked
      return {
        state: [...word].filter((each) => each.toLowerCase() === letter.toLowerCase()).length,
        observation: `How many times does the letter "${letter}" occur in "${word}"? Answer with the number alone.`,
      }
    },
    step: ({ state, action }) => judged(lastInteger(action) === state),
  }),
})

/** One kind of instruction whose fulfilment can be seen. */
interface Instruction {
  readonly lowest: number
  readonly highest: number
  words(count: number): string
  isFollowed(text: string, count: number): boolean
}

const wordsOf = (text: string): string[] => text.match(/[\p{L}\p{N}][\p{L}\p{N}'’-]*/gu) ?? []
const linesOf = (text: string): string[] => text.split('\n').filter((line) => line.trim() !== '')

const instructions: Readonly<Record<string, Instruction>> = {
  lines: {
    lowest: 2,
    highest: 5,
    words: (count) => `Write exactly ${count} lines.`,
    isFollowed: (text, count) => linesOf(text).length === count,
  },
  words: {
    lowest: 3,
    highest: 12,
    words: (count) => `Use exactly ${count} words.`,
    isFollowed: (text, count) => wordsOf(text).length === count,
  },
  bullets: {
    lowest: 2,
    highest: 5,
    words: (count) => `Answer with exactly ${count} bullet points, each on a line that begins with "- ".`,
    isFollowed: (text, count) =>
      linesOf(text).length === count && linesOf(text).every((line) => line.startsWith('- ')),
  },
  commas: {
    lowest: 2,
    highest: 6,
    words: (count) => `Answer with ${count} words separated by commas, and nothing else.`,
    isFollowed: (text, count) => {
      const parts = text.split(',').map((part) => part.trim())
      return parts.length === count && parts.every((part) => wordsOf(part).join('') === part && part !== '')
    },
  },
  uppercase: {
    lowest: 1,
    highest: 1,
    words: () => 'Write in capital letters only.',
    isFollowed: (text) => /\p{Lu}/u.test(text) && !/\p{Ll}/u.test(text),
  },
  lowercase: {
    lowest: 1,
    highest: 1,
    words: () => 'Write in lower-case letters only.',
    isFollowed: (text) => /\p{Ll}/u.test(text) && !/\p{Lu}/u.test(text),
  },
  quoted: {
    lowest: 1,
    highest: 1,
    words: () => 'Put your whole answer in double quotation marks.',
    isFollowed: (text) => /^"[^"]+"$/.test(text.trim()),
  },
  json: {
    lowest: 1,
    highest: 1,
    words: () => 'Answer with a JSON object that has the keys "topic" and "fact", and nothing else.',
    isFollowed: isTopicObject,
  },
}

function isTopicObject(text: string): boolean {
  const value = parsedJson(text)
  return typeof value === 'object' && value !== null && Object.keys(value).toSorted().join() === 'fact,topic'
}

const topics = [
  'the sea', 'bread', 'the moon', 'trains', 'winter', 'bees', 'music', 'paper', 'mountains', 'coffee', 'chess', 'rain',
  'maps', 'horses', 'clocks', 'gardens', 'glass', 'rivers', 'salt', 'libraries',
] // prettier-ignore

interface Demand {
  readonly kind: string
  readonly count: number
}

/** Say something about a topic, in a form that is asked for. A column `topic` of a row is taken instead. */
export const formatFollowing = defineTask({
  id: 'format-following',
  description: 'Answer in a form that is asked for (lines, words, capitals, JSON …): 1 if it has it, else 0.',
  settings: {},
  create: () => ({
    maxTurns: 1,
    reset({ row, random }) {
      const drawn = topics[random.integer(topics.length)]!
      const topic = typeof row['topic'] === 'string' ? row['topic'] : drawn
      const state = drawDemand(random)
      const words = instructions[state.kind]!.words(state.count)
      return { state, observation: `Say something about ${topic}. ${words}` }
    },
    step({ state, action }) {
      const isFollowed = instructions[state.kind]!.isFollowed(action.trim(), state.count)
      return {
        reward: Number(isFollowed),
        terminated: true,
        metrics: { correct: Number(isFollowed), [`followed ${state.kind}`]: Number(isFollowed) },
      }
    },
  }),
})

function drawDemand(random: SequentialRandom): Demand {
  const kinds = Object.keys(instructions)
  const kind = kinds[random.integer(kinds.length)]!
  const { lowest, highest } = instructions[kind]!
  return { kind, count: lowest + random.integer(highest - lowest + 1) }
}

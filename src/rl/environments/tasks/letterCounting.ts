import { defineTask, judged, lastInteger } from './common.ts'

/** Words with letters that come twice or more: those are what models miscount. */
const words = [
  'strawberry', 'banana', 'mississippi', 'bookkeeper', 'committee', 'assessment', 'possession', 'raspberry',
  'cookbook', 'parallel', 'tattoo', 'referee', 'balloon', 'coffee', 'address', 'engineering', 'millennium',
  'occurrence', 'embarrass', 'accommodate', 'tomorrow', 'pineapple', 'butterfly', 'cinnamon', 'dandelion',
  'elephant', 'festival', 'giraffe', 'hippopotamus', 'illusion', 'jellyfish', 'kangaroo', 'lollipop',
  'marshmallow', 'necessary', 'opossum', 'passenger', 'quarrel', 'rhinoceros', 'successful', 'television',
  'umbrella', 'vacuum', 'whirlpool', 'xylophone', 'yellow', 'zucchini', 'abracadabra', 'barbecue', 'chocolate',
] // prettier-ignore

/** How often a letter stands in a word. Columns `word` and `letter` of a row are taken instead. */
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

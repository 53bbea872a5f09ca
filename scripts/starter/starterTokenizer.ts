import { createTokenizer, type Tokenizer } from '#engine/text/tokenizer.ts'
import { trainBpe } from './bpeTrainer.ts'
import { conversations, type ConversationEncoder } from './corpus.ts'

const [pad, end, system, user, assistant, tool] = [
  '<|pad|>',
  '<|end|>',
  '<|system|>',
  '<|user|>',
  '<|assistant|>',
  '<|tool|>',
]

/** One token opens a turn and names its speaker, one closes it. */
const chatTemplate =
  "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"

/** Conversations the tokenizer is trained on; by then every word of the corpus is one token. */
const sampleSize = 20_000
const maxVocabSize = 512

export interface StarterTokenizer {
  readonly json: object
  readonly config: object
  readonly tokenizer: Tokenizer
  readonly encoder: ConversationEncoder
}

export function makeTokenizer(seed: number, heldoutContents: ReadonlySet<string>): StarterTokenizer {
  const sample = conversations(seed, heldoutContents).take(sampleSize)
  const texts = sample.flatMap(({ exercise, completion }) => [exercise.prompt, completion])
  const specialTokens = [pad, end, system, user, assistant, tool]
  const json = trainBpe(texts, { vocabSize: maxVocabSize, specialTokens })
  const config = {
    tokenizer_class: 'PreTrainedTokenizerFast',
    bos_token: null,
    eos_token: end,
    pad_token: pad,
    unk_token: null,
    clean_up_tokenization_spaces: false,
    model_max_length: 128,
    chat_template: chatTemplate,
  }
  const tokenizer = createTokenizer({
    tokenizerJson: json,
    tokenizerConfig: config,
    where: 'the starter model',
  })
  const encode = (text: string) => tokenizer.encode(text, { addSpecialTokens: false })
  return {
    json,
    config,
    tokenizer,
    encoder: {
      prompt: (text) => encode(`${user}${text}${end}${assistant}`),
      completion: (text) => encode(`${text}${end}`),
    },
  }
}

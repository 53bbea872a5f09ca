/** Writes the Modelfile beside a merged model, from which Ollama makes a model of its own. */
import { AppError } from '#shared/errors.ts'
import type { ChatMessage } from '#shared/messages.ts'
import type { ModelConfig } from '#engine/models/config.ts'
import type { LoadedTokenizer } from '#host/models/tokenizerFolder.ts'

export const modelfileName = 'Modelfile'

interface ModelfileContent {
  /** Name of the model's file in the same folder. */
  readonly file: string
  readonly model: ModelConfig
  /** null: the model has none. */
  readonly text: LoadedTokenizer | null
  readonly license: string | null
}

export function modelfile({ file, model, text, license }: ModelfileContent): string {
  const stops = text === null ? [] : stopTexts(model, text)
  const template = text === null ? null : ollamaTemplate(text)
  return [
    `FROM ./${file}`,
    ...(template === null
      ? ['# No TEMPLATE: Ollama takes the chat template of the file where it knows it.']
      : [
          `TEMPLATE """${goTemplate(template)}"""`,
          ...(template.system === '' ? [] : [`SYSTEM """${template.system}"""`]),
        ]),
    ...stops.map((stop) => `PARAMETER stop ${JSON.stringify(stop)}`),
    ...(license === null ? [] : [`LICENSE """${license.replaceAll('"""', "'''")}"""`]),
    '',
  ].join('\n')
}

function stopTexts({ eosIds }: ModelConfig, { tokenizer }: LoadedTokenizer): string[] {
  return eosIds.flatMap((id) => tokenizer.idToToken(id) ?? []).filter((stop) => stop !== '')
}

/** Text before and behind the content of a message. */
interface Frame {
  readonly before: string
  readonly behind: string
}

/** A chat template that frames each message by its role and does nothing else. */
interface PlainTemplate {
  readonly frames: Readonly<Partial<Record<'system' | 'user' | 'assistant', Frame>>>
  /** Text before the first message, whichever it is. */
  readonly opening: string
  /** Text that opens the answer. */
  readonly prompt: string
  /** The system message of conversations without one; empty: none. */
  readonly system: string
}

const goTemplate = ({ frames, opening, prompt }: PlainTemplate): string => {
  const branches = Object.entries(frames).map(
    ([role, { before, behind }], place) =>
      `{{ ${place === 0 ? '' : 'else '}if eq .Role ${JSON.stringify(role)} }}${before}{{ .Content }}${behind}`,
  )
  return `${opening}{{ range .Messages }}${branches.join('')}{{ end }}{{ end }}${prompt}`
}

const mark = (number: number): string => `message-${number}-text`

const conversation = (...roles: readonly ('system' | 'user' | 'assistant')[]): ChatMessage[] =>
  roles.map((role, index) => ({ role, content: mark(index) }))

/** The frames of a template, found by rendering conversations; null where it does more than frame messages. */
export function ollamaTemplate(text: LoadedTokenizer): PlainTemplate | null {
  try {
    const found = framesOf(text)
    return found !== null && isRight(found, text) && isPlain(found) ? found : null
  } catch (error) {
    if (error instanceof AppError) return null
    throw error
  }
}

type Render = (roles: readonly ('system' | 'user' | 'assistant')[], asks?: boolean) => string

/** Ollama puts the first token of the vocabulary's own accord where the file asks for it. */
function renderer({ tokenizer, chatTemplate }: LoadedTokenizer): Render {
  const { bos } = tokenizer.special
  const isAdded = bos !== null && tokenizer.encode('1', { addSpecialTokens: true })[0] === bos
  const start = isAdded ? (tokenizer.idToToken(bos) ?? '') : ''
  return (roles, asks = false) => {
    const rendered = chatTemplate?.render(conversation(...roles), { addGenerationPrompt: asks }) ?? ''
    return rendered.startsWith(start) ? rendered.slice(start.length) : rendered
  }
}

function framesOf(text: LoadedTokenizer): PlainTemplate | null {
  if (text.chatTemplate === null) return null
  const render = renderer(text)
  const turns = turnFrames(render)
  const prompt = promptOf(render)
  if (turns === null || prompt === null) return null
  const { opening, user, assistant } = turns
  const system = systemFrame(render, user)
  if (system === null) return { opening, prompt, system: '', frames: { user, assistant } }
  const frames = { system, user, assistant }
  const isDefault = opening.length > system.before.length + system.behind.length
  if (!isDefault) return { opening, prompt, system: '', frames }
  const usual = within(opening, system)
  return usual === null ? null : { opening: '', prompt, system: usual, frames }
}

/** Finds the text before the first message, and around those of user and assistant. null: they are not framed alike. */
function turnFrames(render: Render): { opening: string; user: Frame; assistant: Frame } | null {
  const [start = '', turn = '', again = '', userEnd = ''] = between(render(['user', 'assistant', 'user']), 3)
  const answerEnd = render(['user', 'assistant']).split(mark(1))[1] ?? ''
  if (!turn.startsWith(userEnd) || !again.startsWith(answerEnd)) return null
  const user = { before: again.slice(answerEnd.length), behind: userEnd }
  if (!start.endsWith(user.before)) return null
  const opening = start.slice(0, start.length - user.before.length)
  return { opening, user, assistant: { before: turn.slice(userEnd.length), behind: answerEnd } }
}

/** Finds the text that asks for an answer. null: it changes what stands before. */
function promptOf(render: Render): string | null {
  const [whole, asked] = [render(['user']), render(['user'], true)]
  return asked.startsWith(whole) ? asked.slice(whole.length) : null
}

/** Returns the text inside a frame; null where the frame does not match. */
function within(text: string, { before, behind }: Frame): string | null {
  if (!text.startsWith(before) || !text.endsWith(behind)) return null
  return text.slice(before.length, text.length - behind.length)
}

/** null: the template knows no such messages. */
function systemFrame(render: Render, user: Frame): Frame | null {
  try {
    const [before = '', middle = ''] = between(render(['system', 'user']), 2)
    if (!middle.endsWith(user.before)) return null
    return { before, behind: middle.slice(0, middle.length - user.before.length) }
  } catch (error) {
    if (error instanceof AppError) return null
    throw error
  }
}

/** Returns the texts around that number of messages. */
function between(rendered: string, count: number): string[] {
  let rest = rendered
  const parts = Array.from({ length: count }, (_, index) => {
    const [part = '', ...others] = rest.split(mark(index))
    rest = others.join(mark(index))
    return part
  })
  return [...parts, rest]
}

/** Returns true if the frames give what the template gives, for conversations of other shapes. */
function isRight({ frames, opening, prompt, system }: PlainTemplate, text: LoadedTokenizer): boolean {
  const render = renderer(text)
  const shapes = [
    ['user'],
    ['user', 'assistant', 'user', 'assistant', 'user'],
    ...(frames.system === undefined ? [] : ([['system', 'user', 'assistant', 'user']] as const)),
  ] as const
  return shapes.every((roles) => {
    const framed = roles.map((role, index) => {
      const { before = '', behind = '' } = frames[role] ?? {}
      return `${before}${mark(index)}${behind}`
    })
    const hasSystem = roles[0] === 'system'
    const { before = '', behind = '' } = frames.system ?? {}
    const usual = system === '' || hasSystem ? '' : `${before}${system}${behind}`
    return `${opening}${usual}${framed.join('')}${prompt}` === render(roles, true)
  })
}

/** Returns true if nothing in it means something to Ollama's template language or its quotes. */
function isPlain({ frames, opening, prompt, system }: PlainTemplate): boolean {
  const texts = Object.values(frames).flatMap(({ before, behind }) => [before, behind])
  return [...texts, opening, prompt, system].every((text) => !/\{\{|\}\}|"""/.test(text))
}

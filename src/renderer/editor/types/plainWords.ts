/** What the type checker finds, in words that fit code which scores completions. */

interface Finding {
  readonly code: number
  readonly message: string
  /** The code it is about. */
  readonly text: string
}

/** A value of type unknown is looked at: types are gone when the code runs, and parsed JSON is meant to be looked at. */
const ofNoUse = new Set([2571, 18046])

export const isOfNoUse = (code: number): boolean => ofNoUse.has(code)

/** Things of other worlds that people reach for. */
const absent: Readonly<Record<string, string>> = {
  fetch: 'the network cannot be reached',
  XMLHttpRequest: 'the network cannot be reached',
  WebSocket: 'the network cannot be reached',
  require: 'nothing can be imported',
  module: 'use export',
  exports: 'use export',
  process: 'this is no Node program',
  Buffer: 'this is no Node program',
  window: 'this is no web page',
  document: 'this is no web page',
  setTimeout: 'nothing can be waited for',
  setInterval: 'nothing can be waited for',
  performance: 'there is no clock',
  Intl: 'there are no locales',
  structuredClone: 'copy by JSON.parse(JSON.stringify(value))',
}

const noName = new Set([2304, 2503, 2552, 2580, 2581, 2582, 2583, 2584, 2591, 2592, 2593])
const noProperty = new Set([2339, 2551])
const noModule = new Set([2307, 2792])

/** Code may look for a column and do without it. */
export const isMissingColumn = ({ code, message }: Pick<Finding, 'code' | 'message'>): boolean =>
  noProperty.has(code) && message.includes("on type 'Row'")

/** Not every path of a function returns. */
const noReturn = new Set([2355, 2366, 7030])

export function inPlainWords({ code, message, text }: Finding): string {
  if (isMissingColumn({ code, message })) return columnSentence(message)
  if (noModule.has(code)) return noImports
  if (noReturn.has(code))
    return 'Not every path returns a number or null: a path without return fails the sample.'
  return noName.has(code) ? nameSentence(message, text) : scoreSentence(message)
}

const noImports = 'Nothing can be imported: the code runs alone, without files and network.'

function nameSentence(message: string, text: string): string {
  if (/^['"]/.test(text)) return noImports
  const reason = Object.hasOwn(absent, text) ? absent[text] : undefined
  return reason === undefined ? message : `There is no “${text}” in here: ${reason}.`
}

function columnSentence(message: string): string {
  const [, name = ''] = /Property '(.*?)' does not exist/.exec(message) ?? []
  const [, other] = /Did you mean '(.*?)'/.exec(message) ?? []
  return `The rows have no column “${name}”.${other === undefined ? '' : ` Is “${other}” meant?`}`
}

function scoreSentence(message: string): string {
  const [, type] =
    /^Type '(.*?)' is not assignable to type '(?:Score|Score \| Promise<Score>|number \| Promise<Score> \| null)'/.exec(
      message,
    ) ?? []
  return type === undefined ? message : `A reward function returns a number or null, not ${type}.`
}

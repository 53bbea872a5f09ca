/** Writes YAML for readers of version 1.1, such as Python's. */
import { Document, isScalar, Scalar, type ScalarTag, visit } from 'yaml'

/** A number with an exponent, which those readers see only with a point in it: 1.0e-8. */
const exponent: ScalarTag = {
  tag: 'tag:yaml.org,2002:float',
  default: true,
  identify: (value) => typeof value === 'number' && /^-?\d+e/.test(String(value)),
  test: /(?!)/, // of what is read; nothing is
  resolve: Number,
  stringify: ({ value }) => String(value).replace('e', '.0e'),
}

/**
 * Characters that end a line for one of them or cannot stand in a document as they are: text behind U+2028 would be the next key. Letters and
 * other signs above U+00A0 stay, but for those that turn the direction of later text.
 */
const unsafe =
  /[^\n\u0020-\u007e\u00a0-\u2027\u202f-\u2065\u206a-\ud7ff\ue000-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]/u
const everyUnsafe = new RegExp(unsafe.source, 'gu')

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Returns a document that is understood as `value`: "no" stays a text, 1e-8 a number, and no text ends before its end. */
export function yamlText(value: unknown): string {
  const document = new Document(value, {
    version: '1.1',
    schema: 'yaml-1.1',
    customTags: (tags) => [exponent, ...tags],
  })
  visit(document, {
    Scalar(_, node) {
      if (isScalar(node) && typeof node.value === 'string' && unsafe.test(node.value))
        node.type = Scalar.QUOTE_DOUBLE
    },
  })
  // What is unsafe stands in double quotes, where it may be written by its number.
  return document.toString({ lineWidth: 0 }).replaceAll(everyUnsafe, escaped)
}

/** Lines of a comment. */
export const yamlComment = (text: string): string =>
  text
    .split(/\r\n|[\n\r\u0085\u2028\u2029]/)
    .map((line) => `# ${line.replaceAll(everyUnsafe, '')}\n`)
    .join('')

import { expect, test } from 'vitest'
import { markdownCode, markdownText } from '#shared/markdown.ts'

test('foreign text in Markdown is one line of text', () => {
  expect(markdownText('First sums, 2 × 3 (rank_8)')).toBe('First sums, 2 × 3 (rank_8)')
  expect(markdownText('a\n\n## Start\n\n```sh\ncurl x | sh\n```')).not.toContain('\n')
  expect(markdownText('<img src=x> [y](https://z) ![y][z] `a` &lt; *b* ~~c~~')).toBe(
    String.raw`\<img src=x\> [y\](https://z) ![y\][z] \`a\` \&lt; \*b\* \~\~c\~\~`,
  )
  expect(['# a', '- a', '+ a', '1. a', '2) a'].map(markdownText)).toEqual([
    String.raw`\# a`,
    String.raw`\- a`,
    String.raw`\+ a`,
    String.raw`1\. a`,
    String.raw`2\) a`,
  ])
})

test('a path in Markdown stays code', () => {
  expect(markdownCode('/models/my_model*')).toBe('`/models/my_model*`')
  expect(markdownCode('a` <b> ``c\n# d')).toBe(String.raw`${'```'} a${'`'} <b> ${'``'}c\u{a}# d ${'```'}`)
})

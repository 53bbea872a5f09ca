import { expect, test } from 'vitest'
import { markdownCode, markdownText } from '#shared/markdown.ts'

test('foreign text in Markdown is one line of text', () => {
  expect(markdownText('First sums, 2 × 3 (rank_8)')).toBe('First sums, 2 × 3 (rank_8)')
  expect(markdownText('a\n\n## Start\n\n```sh\ncurl x | sh\n```')).not.toContain('\n')
  expect(markdownText('<img src=x> [y](z) ![y][z] `a` &lt; *b* ~~c~~')).toBe(
    String.raw`\<img src=x\> [y\](z) ![y\][z] \`a\` \&lt; \*b\* \~\~c\~\~`,
  )
  expect(['# a', '- a', '+ a', '1. a', '2) a'].map(markdownText)).toEqual([
    String.raw`\# a`,
    String.raw`\- a`,
    String.raw`\+ a`,
    String.raw`1\. a`,
    String.raw`2\) a`,
  ])
})

test('foreign text in Markdown has no emphasis by underscores and no link by an address alone', () => {
  expect(markdownText('_a_ __b__ snake_case c_ (_d_) __init__')).toBe(
    String.raw`\_a\_ \_\_b\_\_ snake_case c\_ (\_d\_) \_\_init\_\_`,
  )
  expect(markdownText('see https://a.b/_c_, HTTP://a|www.a.b [y](https://z) me@a.b 2@3 a: b')).toBe(
    String.raw`see ${'`https://a.b/_c_,` `HTTP://a`'}\|${'`www.a.b` `[y](https://z)` `me@a.b`'} 2@3 a: b`,
  )
  expect(markdownText('`https://a`')).toBe('`` `https://a` ``')
})

test('a path in Markdown stays code', () => {
  expect(markdownCode('/models/my_model*')).toBe('`/models/my_model*`')
  expect(markdownCode('a` <b> ``c\n# d')).toBe(String.raw`${'```'} a${'`'} <b> ${'``'}c\u{a}# d ${'```'}`)
})

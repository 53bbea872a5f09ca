import { describe, expect, test } from 'vitest'
import { panelsOf, parseState, shownBand, stateQuery } from '#renderer/features/compare/state.ts'

const parse = (text: string) => parseState(new URLSearchParams(text))
const written = (text: string) =>
  new URLSearchParams(
    Object.entries(stateQuery(parse(text))).filter((entry): entry is [string, string] => Boolean(entry[1])),
  )

describe('the address of a comparison', () => {
  test('says the same when it is read back', () => {
    const text =
      'runs=a,b,c&baseline=b&hidden=c&panels=reward,rewards/correct/mean&x=time&smoothing=0.75&scale=log&group=optimization.learningRate&band=deviation&metric=kl&by=tail&marks=1&spikes=0&zoom=1.5~20'
    expect(Object.fromEntries(written(text))).toEqual(Object.fromEntries(new URLSearchParams(text)))
  })

  test('leaves out what is usual', () => {
    expect([...written('runs=a&x=step&scale=linear&band=range&by=last').keys()]).toEqual(['runs'])
  })

  test('runs that differ in their seed only have the band of their 95 % interval', () => {
    expect(shownBand(parse('runs=a'))).toBe('range')
    expect(shownBand(parse('runs=a&group=model'))).toBe('range')
    expect(shownBand(parse('runs=a&group=seed'))).toBe('interval')
    expect(written('runs=a&group=seed&band=interval').get('band')).toBeNull()
    expect(shownBand(parse(written('runs=a&group=seed&band=range').toString()))).toBe('range')
  })

  test('what does not belong is passed over', () => {
    const state = parse('runs=a,a,b&baseline=z&hidden=z&x=moon&smoothing=7&zoom=9~3&by=x')
    expect(state).toMatchObject({
      runIds: ['a', 'b'],
      baseline: null,
      hidden: [],
      x: 'step',
      smoothing: 'auto',
      zoom: null,
      statistic: 'last',
    })
  })

  test('no panels is not the usual panels', () => {
    expect(parse('runs=a').panels).toBeNull()
    expect(parse('runs=a&panels=kl').panels).toEqual(['kl'])
  })

  test('the default panels are those there are, reward first', () => {
    expect(panelsOf(['loss', 'kl', 'entropy', 'reward', 'unheard'])).toEqual([
      'reward',
      'entropy',
      'kl',
      'loss',
    ])
  })
})

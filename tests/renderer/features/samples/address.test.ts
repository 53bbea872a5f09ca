import { expect, test } from 'vitest'
import { filterCount, isFiltered, readAddress, requestOf } from '#renderer/features/samples/address.ts'

const read = (search: string) => readAddress(new URLSearchParams(search))

test('an address says step, sample, colour and filter', () => {
  const address = read(
    'step=12&sample=345&colour=kl&source=evaluation&text=four&min=0&max=0.5&cut=1&view=time',
  )
  expect(address).toMatchObject({
    step: 12,
    sample: 345,
    colour: 'kl',
    source: 'evaluation',
    view: 'time',
    range: null,
  })
  expect(filterCount(address.filter)).toBe(2)
  expect(requestOf(address.filter)).toEqual({ text: 'four', minReward: 0, maxReward: 0.5 })
})

test('what makes no sense is as if it were not there', () => {
  expect(read('step=x&colour=toString&sample=')).toMatchObject({
    step: null,
    sample: null,
    colour: null,
  })
  expect(isFiltered(read('').filter)).toBe(false)
})

test('a stretch of steps or all of them', () => {
  expect(read('from=3&to=9').range).toEqual([3, 9])
  expect(read('from=3').range).toBeNull()
  expect(read('steps=all&from=3&to=9').range).toBe('all')
})

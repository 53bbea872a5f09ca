/** Pictures that are older than the window, or were taken beside other work, are found; those of today are not. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { deflateSync } from 'node:zlib'
import { beforeEach, expect, test } from 'vitest'
import {
  mostBusy,
  pictureProblems,
  recordFile,
  recordPicture,
  unknownPictures,
} from '../../scripts/docs/pictures.ts'
import { animatedPng } from '../../scripts/screens/animatedPng.ts'
import { temporaryFolder } from '../host/files/temporaryFolder.ts'

const folder = temporaryFolder()
const shown = ['![A run](images/run-light.png)']
const problems = () => pictureProblems(folder, shown)
const change = (fields: object) => {
  const file = path.join(folder, recordFile)
  const records = JSON.parse(readFileSync(file, 'utf8')) as Record<string, object>
  const changed = { ...records, 'run-light.png': { ...records['run-light.png'], ...fields } }
  writeFileSync(file, JSON.stringify(changed))
}

beforeEach(() => {
  writeFileSync(path.join(folder, 'run-light.png'), 'the window')
  recordPicture(folder, 'run-light.png', 0.05)
})

test('a picture of today is not complained of', () => {
  expect(problems()).toEqual([])
})

test.each([
  ['another rail', () => change({ rail: '0123456789abcdef' }), /older than the window's rail/],
  ['a busy machine', () => recordPicture(folder, 'run-light.png', mostBusy + 0.4), /65 % busy/],
  [
    'a file put there by hand',
    () => writeFileSync(path.join(folder, 'run-light.png'), 'an old window'),
    /not the picture that was recorded/,
  ],
])('a picture of %s is found', (_, plant, problem) => {
  plant()
  expect(problems()).toEqual([{ name: 'run-light.png', problem: expect.stringMatching(problem) as string }])
})

test('a picture without a record is told of', () => {
  writeFileSync(path.join(folder, 'other.png'), 'the window')
  expect(unknownPictures(folder)).toEqual(['other.png'])
  expect(pictureProblems(folder, [...shown, '![Another](images/other.png)'])).toEqual([])
  rmSync(path.join(folder, 'other.png'))
})

test('a picture that no document shows is found', () => {
  expect(pictureProblems(folder, ['Text'])).toEqual([
    { name: 'run-light.png', problem: 'No document shows it.' },
  ])
})

/** A PNG of one row whose pixels are stored as their differences from the left. */
function png(...pixels: readonly (readonly [number, number, number])[]): Buffer {
  const differences = pixels.flatMap((pixel, i) =>
    pixel.map((value, at) => (value - (pixels[i - 1]?.[at] ?? 0)) & 255),
  )
  const chunk = (type: string, content: Buffer) => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(content.length)
    return Buffer.concat([length, Buffer.from(type), content, Buffer.alloc(4)])
  }
  const head = Buffer.from([0, 0, 0, pixels.length, 0, 0, 0, 1, 8, 2, 0, 0, 0])
  const data = deflateSync(Buffer.from([1, ...differences]))
  return Buffer.concat([
    Buffer.alloc(8),
    chunk('IHDR', head),
    chunk('IDAT', data),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

test('an animated picture keeps of its second frame what changed', () => {
  const [red, green, blue] = [
    [255, 0, 0],
    [0, 255, 0],
    [0, 0, 255],
  ] as const
  const animated = animatedPng([
    { picture: png(red, green), milliseconds: 900 },
    { picture: png(red, blue), milliseconds: 300 },
  ])
  const at = animated.indexOf('fdAT')
  const frame = animated.subarray(at + 8, at + 4 + animated.readUInt32BE(at - 4))
  expect(frame).toEqual(deflateSync(Buffer.from([0, 0, 0, 0, 0, 0, 0, 255, 255]), { level: 9 }))
  expect(animated.readUInt16BE(animated.lastIndexOf('fcTL') + 24)).toBe(300)
})

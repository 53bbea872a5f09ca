/** Animated PNGs (PNG, third edition, chapter 4.6), which browsers and GitHub show wherever a still one may stand. */
import { crc32, deflateSync, inflateSync } from 'node:zlib'

export interface Shot {
  /** A PNG file with 8 bits of red, green and blue, as Chromium writes it; all of one size. */
  readonly picture: Buffer
  /** How long it is shown. */
  readonly milliseconds: number
}

/** Of each picture but the first only the pixels that changed are kept; the others are transparent. It is shown again without end. */
export function animatedPng(shots: readonly Shot[]): Buffer {
  const images = shots.map(({ picture }) => decode(picture))
  const { width = 0, height = 0 } = images[0] ?? {}
  const frames = shots.flatMap(({ milliseconds }, index) => {
    const rows = changedRows(images[index]?.rows ?? [], images[index - 1]?.rows)
    const data = deflateSync(Buffer.concat(rows), { level: 9 })
    // Control and data of frames are numbered together; the first frame's data is that of the still picture.
    const number = Math.max(0, 2 * index - 1)
    return [
      chunk('fcTL', [whole(number, width, height, 0, 0), delayOf(milliseconds), overPictureBefore]),
      index === 0 ? chunk('IDAT', [data]) : chunk('fdAT', [whole(number + 1), data]),
    ]
  })
  const rgbaOf8Bits = Buffer.from([8, 6, 0, 0, 0])
  return Buffer.concat([
    signature,
    chunk('IHDR', [whole(width, height), rgbaOf8Bits]),
    chunk('acTL', [whole(shots.length, 0)]),
    ...frames,
    chunk('IEND', []),
  ])
}

const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')

/** Nothing is cleared after a frame; the next is drawn over it. */
const overPictureBefore = Buffer.from([0, 1])

function delayOf(milliseconds: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt16BE(milliseconds)
  bytes.writeUInt16BE(1000, 2)
  return bytes
}

function whole(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length)
  values.forEach((value, i) => bytes.writeUInt32BE(value, 4 * i))
  return bytes
}

function chunk(type: string, parts: readonly Buffer[]): Buffer {
  const named = Buffer.concat([Buffer.from(type), ...parts])
  return Buffer.concat([whole(named.length - 4), named, whole(crc32(named))])
}

/** Rows of red, green, blue and alpha, each behind the number of its filter, 0 for none. */
const changedRows = (rows: readonly Buffer[], before: readonly Buffer[] | undefined): Buffer[] =>
  rows.map((row, y) => {
    const old = before?.[y]
    const changed = Buffer.alloc(1 + (row.length / 3) * 4)
    for (let from = 0, to = 1; from < row.length; from += 3, to += 4) {
      if (old !== undefined && row.compare(old, from, from + 3, from, from + 3) === 0) continue
      row.copy(changed, to, from, from + 3)
      changed[to + 3] = 255
    }
    return changed
  })

interface Image {
  readonly width: number
  readonly height: number
  /** Red, green and blue of each pixel. */
  readonly rows: readonly Buffer[]
}

function decode(picture: Buffer): Image {
  const data: Buffer[] = []
  for (let at = signature.length; at < picture.length; at += picture.readUInt32BE(at) + 12) {
    if (picture.toString('latin1', at + 4, at + 8) === 'IDAT')
      data.push(picture.subarray(at + 8, at + 8 + picture.readUInt32BE(at)))
  }
  const [width, height] = [picture.readUInt32BE(16), picture.readUInt32BE(20)]
  const filtered = inflateSync(Buffer.concat(data))
  if (filtered.length !== height * (3 * width + 1))
    throw new Error('A picture is not a PNG file of 8-bit RGB without interlacing.')
  const rows: Buffer[] = []
  for (let y = 0; y < height; y++) {
    const row = filtered.subarray(y * (3 * width + 1), (y + 1) * (3 * width + 1))
    rows.push(withoutFilter(row, rows[y - 1] ?? Buffer.alloc(3 * width)))
  }
  return { width, height, rows }
}

/** Chapter 9.2: a row is stored as its difference from what lies to the left and above. */
function withoutFilter(filtered: Buffer, above: Buffer): Buffer {
  const row = Buffer.from(filtered.subarray(1))
  const predict = predictors[filtered[0] ?? 0]
  if (predict === undefined) throw new Error('A picture has a row with an unknown filter.')
  for (let i = 0; i < row.length; i++) {
    const left = row[i - 3] ?? 0
    const aboveLeft = i < 3 ? 0 : (above[i - 3] ?? 0)
    row[i] = (row[i] ?? 0) + predict(left, above[i] ?? 0, aboveLeft)
  }
  return row
}

const predictors: readonly ((left: number, above: number, aboveLeft: number) => number)[] = [
  () => 0,
  (left) => left,
  (_, above) => above,
  (left, above) => (left + above) >> 1,
  paeth,
]

function paeth(left: number, above: number, aboveLeft: number): number {
  const [toLeft, toAbove] = [Math.abs(above - aboveLeft), Math.abs(left - aboveLeft)]
  const toAboveLeft = Math.abs(left + above - 2 * aboveLeft)
  if (toLeft <= toAbove && toLeft <= toAboveLeft) return left
  return toAbove <= toAboveLeft ? above : aboveLeft
}

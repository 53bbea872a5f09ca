/** What each picture of the documents was taken of, and which of them a reader should no longer be shown. */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { frameVersion, places } from '#shared/places.ts'

export interface PictureRecord {
  /** SHA-256 of the file. */
  readonly file: string
  /** Digest of the window's rail and tabs when it was taken. */
  readonly rail: string
  /** Share of the processors that were at work before it was taken, from 0 to 1. */
  readonly busy: number
}

export interface PictureProblem {
  readonly name: string
  readonly problem: string
}

/** Above it, figures such as tokens per second and the load in the status strip are those of a busy machine. */
export const mostBusy = 0.25

/** Name of the file beside the pictures that holds their records. */
export const recordFile = 'pictures.json'

const digestOf = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex')

/** What the window shows around every screen: names of places and tabs in their order, and the version of its looks. */
export const railDigest = (): string => {
  const names = places.map(({ title, views }) => [
    title,
    views.filter(({ isTab }) => isTab !== false).map((view) => view.title),
  ])
  return digestOf(JSON.stringify([frameVersion, names])).slice(0, 16)
}

type Records = Readonly<Record<string, PictureRecord>>

const recordsIn = (folder: string): Records => {
  const file = path.join(folder, recordFile)
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Records) : {}
}

export const picturesIn = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.png'))
    .toSorted()

/** Notes how the picture `name` was taken. Records of pictures that are gone are dropped. */
export function recordPicture(folder: string, name: string, busy: number): void {
  const file = digestOf(readFileSync(path.join(folder, name)))
  const records: Records = {
    ...recordsIn(folder),
    [name]: { file, rail: railDigest(), busy: Number(busy.toFixed(2)) },
  }
  const kept = picturesIn(folder).flatMap((each) => {
    const known = records[each]
    return known === undefined ? [] : [[each, known] as const]
  })
  writeFileSync(path.join(folder, recordFile), `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`)
}

/** Pictures of which no record says when they were taken; they are told of and fail nothing, since nothing is known of them. */
export function unknownPictures(folder: string): string[] {
  const records = recordsIn(folder)
  return picturesIn(folder).filter((name) => records[name] === undefined)
}

/** `documents`: their texts, one of which has to show each picture. */
export function pictureProblems(folder: string, documents: readonly string[]): PictureProblem[] {
  const records = recordsIn(folder)
  return picturesIn(folder).flatMap((name) => {
    const isShown = documents.some((text) => text.includes(`images/${name})`))
    const problem = isShown
      ? problemOf(records[name], digestOf(readFileSync(path.join(folder, name))))
      : 'No document shows it.'
    return problem === null ? [] : [{ name, problem }]
  })
}

const again = 'Take it anew: npm run docs:pictures.'

function problemOf(record: PictureRecord | undefined, file: string): string | null {
  if (record === undefined) return null
  if (record.file !== file) return `It is not the picture that was recorded. ${again}`
  if (record.rail !== railDigest()) return `It is older than the window's rail and tabs. ${again}`
  if (record.busy <= mostBusy) return null
  return `It was taken while the processor was ${percent(record.busy)} busy. ${again}`
}

export const percent = (share: number): string => `${String(Math.round(100 * share))} %`

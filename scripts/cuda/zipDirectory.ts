/** What a zip archive holds, and where in it, as far as wheels go: deflated files, less than 4 GB. */
export interface ZipEntry {
  readonly name: string
  /** Of its deflated bytes. */
  readonly offset: number
  readonly packedBytes: number
  readonly sizeBytes: number
}

const endMark = 0x06054b50
const entryMark = 0x02014b50
const deflated = 8

/** Errors: an archive of another kind. */
export function readZip(content: Buffer): ZipEntry[] {
  const end = content.lastIndexOf(Buffer.from(Uint32Array.of(endMark).buffer))
  if (end < 0) throw new Error('That is no zip archive.')
  const entries: ZipEntry[] = []
  let at = content.readUInt32LE(end + 16)
  for (let left = content.readUInt16LE(end + 10); left > 0; left--) {
    if (content.readUInt32LE(at) !== entryMark) throw new Error('The directory of the archive is damaged.')
    const [nameBytes, extraBytes, commentBytes] = [28, 30, 32].map((place) =>
      content.readUInt16LE(at + place),
    )
    const next = at + 46 + (nameBytes ?? 0)
    const local = content.readUInt32LE(at + 42)
    // The name and what follows it may be longer beside the file than in the directory.
    const offset = local + 30 + content.readUInt16LE(local + 26) + content.readUInt16LE(local + 28)
    if (content.readUInt16LE(at + 10) === deflated)
      entries.push({
        name: content.toString('utf8', at + 46, next),
        offset,
        packedBytes: content.readUInt32LE(at + 20),
        sizeBytes: content.readUInt32LE(at + 24),
      })
    at = next + (extraBytes ?? 0) + (commentBytes ?? 0)
  }
  return entries
}

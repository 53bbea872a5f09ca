/** Saves files made by the page as downloads; the shell asks where to put them. */

/** Reduces a title to letters, digits and dashes. */
export const fileNameOf = (title: string): string =>
  title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '') || 'chart'

export const saveText = (text: string, name: string, type: string): void =>
  saveBlob(new Blob([text], { type: `${type};charset=utf-8` }), name)

export function saveBlob(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob)
  const anchor = document.createElement('a')
  anchor.href = url
  anchor.download = name
  anchor.click()
  // The download keeps its own reference to the blob once it has begun.
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

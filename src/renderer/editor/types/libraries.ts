/**
 * Declarations of the JavaScript available in the sandbox: ES2024 and the later features its engine supports. Not
 * available: Intl, weak references, shared memory, timers, and everything of a browser.
 */
const texts = Object.entries(
  import.meta.glob<string>(
    [
      '../../../../node_modules/typescript/lib/lib.{es5,decorators}.d.ts',
      '../../../../node_modules/typescript/lib/lib.es20{15,16,17,18,19,20,21,22,23,24}.*.d.ts',
      '../../../../node_modules/typescript/lib/lib.es2025.{collection,iterator,regexp}.d.ts',
      '!**/lib.es*.{full,intl,sharedmemory,weakref,date,number}.d.ts',
      '!**/lib.es2017.arraybuffer.d.ts',
    ],
    { query: '?raw', import: 'default', eager: true },
  ),
)

export interface Libraries {
  readonly globals: string
  /** Separate because it is a module, so it cannot share a file with the rest. */
  readonly iterators: string
}

/** Joins library files without their references to each other, so that nothing is looked up. */
const joined = (isWanted: (file: string) => boolean): string =>
  texts
    .flatMap(([file, text]) => (isWanted(file) ? [text] : []))
    .join('\n')
    .replaceAll(/^\/\/\/ <reference .*$/gm, '')

const isIterators = (file: string): boolean => file.endsWith('lib.es2025.iterator.d.ts')

export const libraries: Libraries = {
  globals: joined((file) => !isIterators(file)),
  iterators: joined(isIterators),
}

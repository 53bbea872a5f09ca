/** The JSON of a measurement, which is whole at any time, also on a full disk. */
import { renameSync, rmSync, writeFileSync } from 'node:fs'

/** Returns a function that writes the results so far; it returns false, after a sentence, where they cannot be written. */
export function resultsFile(file, results) {
  return () => {
    const next = `${file}.part`
    try {
      writeFileSync(next, `${JSON.stringify(results, null, 2)}\n`)
      renameSync(next, file)
      return true
    } catch (error) {
      discard(next)
      console.error(`run.mjs: The results could not be written: ${error.message}. The measurement goes on.`)
      return false
    }
  }
}

function discard(file) {
  try {
    rmSync(file, { force: true })
  } catch {
    // no folder to have it
  }
}

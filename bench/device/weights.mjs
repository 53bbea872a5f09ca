/**
 * Writes the seeded random weights of a shape into a data folder, where they are not there yet:
 *   node bench/device/weights.mjs SHAPE DATA_FOLDER
 * Prints the folder of the model.
 */
import { subjectFolder } from '../../src/host/checks/benchModel.ts'
import { dataFolders } from '../../src/host/dataDirectory.ts'

const [shape, data] = process.argv.slice(2)
if (shape === undefined || data === undefined) {
  console.error('Usage: node bench/device/weights.mjs SHAPE DATA_FOLDER')
  process.exit(2)
}
try {
  console.log(
    await subjectFolder({ subject: { shape }, cacheDirectory: dataFolders(data).cache }, console.error),
  )
} catch (error) {
  console.error([error.message, error.hint].filter((text) => typeof text === 'string').join(' '))
  process.exitCode = 1
}

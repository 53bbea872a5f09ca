/** A served host: `node servingProcess.ts DATA_DIRECTORY`. It says its address. */
import { serveHost } from '#host/serveHost.ts'

const [dataDirectory = ''] = process.argv.slice(2)
const { url } = await serveHost({ dataDirectory, port: 0 })
process.stdout.write(`${url}\n`)

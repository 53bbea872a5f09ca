/** Headless hosts in one process, which loads the code once for all of them: `start DATA WINDOW` is answered by the address, by which `stop ADDRESS` ends it. */
import { serveHost, type ServedHost } from '#host/serveHost.ts'
import { answerQuestions } from '../askedProcess.ts'
import { startWarmJob } from '../host/processes/warmJobs.ts'

const hosts = new Map<string, ServedHost>()

const answers = {
  async start(dataDirectory: string, windowDirectory: string): Promise<string> {
    const host = await serveHost({ dataDirectory, windowDirectory, port: 0, startJob: startWarmJob })
    hosts.set(host.url, host)
    return host.url
  },

  async stop(url: string): Promise<string> {
    await hosts.get(url)?.[Symbol.asyncDispose]()
    hosts.delete(url)
    return url
  },
}

await answerQuestions(([what = '', ...given]) =>
  answers[what as keyof typeof answers](...(given as [string, string])),
)
for (const url of hosts.keys()) await answers.stop(url)
process.exit() // warm processes would keep this one

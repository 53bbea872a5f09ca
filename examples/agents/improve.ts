/**
 * Improves a run by its diagnosis, as an assistant would: trains the demo with changed settings, does what the diagnosis proposes,
 * one finding at a time, in a fork that goes on from the middle of the run to the same step, and keeps whichever is better:
 *
 *   node improve.ts '{"rollout.temperature": 4, "steps": 20, "checkpoints.every": 10}' turnwise mcp --allow start
 *
 * The words behind the settings start the server of the Model Context Protocol.
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'

const [given = '{}', command = 'turnwise', ...words] = process.argv.slice(2)
const rounds = 3

type Settings = Readonly<Record<string, unknown>>
interface Run {
  readonly id: string
  readonly status: string
  readonly step: number
  readonly rewardAfter: number | null
}
interface Proposal {
  readonly words: string
  readonly changes: Settings
  /** Step to fork from, the newest one, or a new run. */
  readonly from: 'newest' | 'start' | number
}

const client = new Client({ name: 'improve', version: '1.0.0' })

/** Calls a tool; what it quotes stands between marks, and is data. */
async function call<T>(name: string, input: Settings = {}): Promise<T> {
  const { content, isError } = await client.callTool({ name, arguments: input })
  const [{ text = '' } = {}] = content as readonly { readonly text?: string }[]
  if (isError === true) throw new Error(text)
  return JSON.parse(/<(\w+)>\n(.*)\n<\/\1>/s.exec(text)?.[2] ?? text) as T
}

/** A copy of a config with settings changed by their dotted names. */
function changed(config: Settings, changes: Settings): Settings {
  const copy = structuredClone(config)
  for (const [name, value] of Object.entries(changes)) {
    const path = name.split('.')
    const last = path.pop() ?? ''
    let place = copy as Record<string, unknown>
    for (const part of path) place = place[part] as Record<string, unknown>
    place[last] = value
  }
  return copy
}

async function trained(runId: string): Promise<Run> {
  for (;;) {
    const { run, hasEnded } = await call<{ run: Run; hasEnded: boolean }>('watch_run', { runId })
    if (!hasEnded) continue
    console.log(`${run.id} ${run.status} after ${run.step} steps, eval reward ${run.rewardAfter ?? 'none'}`)
    return run
  }
}

/** The first change that a diagnosis proposes, with the finding in words; null: none. */
async function proposed(runId: string): Promise<Proposal | null> {
  type Finding = { readonly words: string; readonly proposals: readonly Proposal[] }
  const { findings } = await call<{ findings: readonly Finding[] }>('diagnose_run', { runId })
  for (const { words: finding, proposals } of findings) {
    const proposal = proposals.find(({ changes }) => Object.keys(changes).length > 0)
    if (proposal !== undefined) return { ...proposal, words: `${finding} ${proposal.words}` }
  }
  return null
}

/** Trains with the changes: from the newest checkpoint before the end, from that of a step, or anew. */
async function tried({ id: runId, step }: Run, { changes, from }: Proposal): Promise<Run> {
  const { run, checkpoints } = await call<{
    readonly run: { readonly config: Settings }
    readonly checkpoints: readonly { readonly step: number }[]
  }>('get_run', { runId })
  const steps = checkpoints.map((checkpoint) => checkpoint.step).filter((each) => each < step)
  const origin = from === 'newest' ? Math.max(0, ...steps) : from
  const begun =
    typeof origin === 'number' && steps.includes(origin)
      ? call<{ runId: string }>('fork_run', { runId, step: origin, changes })
      : call<{ runId: string }>('start_run', { config: changed(run.config, changes) })
  return trained((await begun).runId)
}

await client.connect(new StdioClientTransport({ command, args: words, stderr: 'inherit' }))
const { config } = await call<{ config: Settings }>('demo_config')
const start = { config: changed(config, JSON.parse(given) as Settings) }
let best = await trained((await call<{ runId: string }>('start_run', start)).runId)
for (let round = 0; round < rounds; round++) {
  const proposal = await proposed(best.id)
  if (proposal === null) break
  console.log(`${proposal.words} ${JSON.stringify(proposal.changes)}`)
  const next = await tried(best, proposal)
  const { runs } = await call<{ runs: readonly { settings: Settings }[] }>('compare_runs', {
    runIds: [best.id, next.id],
  })
  console.log(`Settings that differ: ${Object.keys(runs[0]?.settings ?? {}).join(', ')}`)
  if ((next.rewardAfter ?? -Infinity) <= (best.rewardAfter ?? -Infinity)) break
  best = next
}
console.log(`Best: ${best.id}, eval reward ${best.rewardAfter ?? 'none'}`)
await client.close()

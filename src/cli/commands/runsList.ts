import type { RunEntry } from '#shared/runs.ts'
import { createHost } from '#host/createHost.ts'
import { defineCommand } from '../command.ts'
import { formatReward, tableLines } from '../output.ts'

const header = [
  ...['run', 'name', 'status', 'diagnosis', 'step', 'algorithm', 'reward', 'eval before', 'after', 'started'],
]

export const runsList = defineCommand({
  name: 'runs list',
  summary: 'List the runs of this data directory',
  positionals: [],
  options: {},
  async run(_given, { dataDirectory, output }) {
    await using host = createHost({ dataDirectory, servesQueue: false })
    const runs = host.store.runs.list().toReversed()
    const unreadable = host.history.unreadable.map(({ directory, error: { message, hint = null } }) => ({
      directory,
      message,
      hint,
    }))
    output.json({ runs, unreadable })
    if (runs.length === 0) output.line('No runs yet. turnwise demo makes one.')
    else for (const line of tableLines(header, runs.map(row))) output.line(line)
    if (runs.some(({ finding }) => finding !== null))
      output.line('What is wrong, and what to change: turnwise runs diagnose RUN')
    if (unreadable.length > 0) output.note('Not listed:')
    for (const { message, hint } of unreadable) output.note(`  ${message}${hint === null ? '' : ` ${hint}`}`)
  },
})

const row = (run: RunEntry): string[] => [
  run.id,
  run.name ?? '–',
  run.status,
  run.finding?.severity ?? '–',
  run.steps === null ? `${run.step}` : `${run.step}/${run.steps}`,
  run.algorithm,
  ...[run.reward, run.rewardBefore, run.rewardAfter].map(formatReward),
  formatTime(run.createdAt),
]

/** `2026-03-01 14:05`, local time. */
export function formatTime(at: number): string {
  const local = new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString()
  return `${local.slice(0, 10)} ${local.slice(11, 16)}`
}

import path from 'node:path'
import { resolveCheckpoint } from '#host/runs/runTarget.ts'
import { createHost } from '#host/createHost.ts'
import { createFork } from '#host/runs/runLifecycle.ts'
import { defineCommand } from '../command.ts'
import { flag, repeatedText, usageError } from '../options.ts'
import { followTraining } from '../training.ts'
import { reportOutcome } from './train.ts'

export const fork = defineCommand({
  name: 'fork',
  summary: 'Begin a new run from a checkpoint of another, with other settings',
  positionals: [
    { name: 'CHECKPOINT', description: 'Folder of a checkpoint, or a run: then from its last whole one' },
  ],
  options: {
    set: repeatedText(
      'KEY=VALUE',
      'setting to change, such as optimization.learningRate=1e-4; may be repeated',
    ),
    noStart: flag('only make the run; start it with turnwise resume'),
  },
  notes: () => [
    'Adapter, optimizer and place in the data are the checkpoint’s. Values are JSON, or text where they are not.',
    'Relative paths are meant from the current folder.',
  ],
  async run({ options, positionals: [target = ''] }, context) {
    const { dataDirectory, output } = context
    const chosen = resolveCheckpoint(dataDirectory, target, 'last')
    if (chosen.fallBack !== null) output.note(chosen.fallBack)
    const changes = Object.fromEntries(options.set.map(parseChange))
    await using host = createHost({ dataDirectory, servesQueue: false })
    const wish = { checkpoint: path.resolve(chosen.directory), changes, baseDirectory: process.cwd() }
    const run = createFork(host, wish)
    output.json({ at: run.createdAt, type: 'run', id: run.id, directory: run.directory })
    output.line(`Run ${run.id}, forked from ${chosen.directory}`)
    if (options.noStart) return
    const outcome = await followTraining({ host, run, resumeFrom: null, streamEvents: true }, context)
    reportOutcome(run.id, outcome, context)
  },
})

function parseChange(text: string): [string, unknown] {
  const at = text.indexOf('=')
  if (at < 1) throw usageError(`--set needs KEY=VALUE, got “${text}”.`, 'For example --set steps=200.')
  const value = text.slice(at + 1)
  try {
    return [text.slice(0, at), JSON.parse(value)]
  } catch {
    return [text.slice(0, at), value]
  }
}

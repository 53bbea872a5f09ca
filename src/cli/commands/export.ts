import { exportPeft } from '#host/artifacts/exportAdapter.ts'
import { checkpointChoices, resolveCheckpoint } from '#host/artifacts/runTarget.ts'
import { defineCommand } from '../command.ts'
import { choice, requiredText, usageError } from '../options.ts'

const formats = ['peft']

export const exportRun = defineCommand({
  name: 'export',
  summary: 'Export the result of a run',
  positionals: [
    { name: 'RUN_OR_CHECKPOINT', description: 'Run id, folder of a run, or folder of a checkpoint' },
  ],
  options: {
    format: requiredText(formats.join('|'), 'what to write; peft is a LoRA adapter folder'),
    out: requiredText('DIR', 'where to write it'),
    checkpoint: choice(checkpointChoices, 'which checkpoint of a run', 'last'),
  },
  async run({ options, positionals: [target = ''] }, { dataDirectory, output }) {
    if (!formats.includes(options.format)) {
      throw usageError(
        `The format «${options.format}» cannot be written.`,
        `This version writes ${formats.join(', ')}.`,
      )
    }
    const { directory: checkpoint, fallBack } = resolveCheckpoint(dataDirectory, target, options.checkpoint)
    if (fallBack !== null) output.note(fallBack)
    const report = await exportPeft(checkpoint, options.out)
    output.json({ format: options.format, checkpoint, ...report })
    output.line(`Wrote ${report.tensors} tensors to ${report.directory}.`)
    output.line(`Read back, they differ from the checkpoint by at most ${report.maxDifference}.`)
  },
})

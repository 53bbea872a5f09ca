import { removeTelemetryFiles, telemetryFiles } from '#host/telemetryFiles.ts'
import { defineCommand } from '../command.ts'
import { flag } from '../options.ts'

export const telemetry = defineCommand({
  name: 'telemetry',
  summary: 'List what ONNX Runtime’s telemetry left on this machine, and remove it',
  positionals: [],
  options: { remove: flag('remove these files') },
  notes: () => [
    'Turnwise turns this telemetry off; before 23 November 2026 it did not. SECURITY.md says what was reported.',
    'Other programs that use ONNX Runtime may write such files again.',
  ],
  run({ options: { remove } }, { output }) {
    const files = telemetryFiles()
    const removed = remove ? removeTelemetryFiles() : 0
    output.json({ files, removed })
    if (files.length === 0) output.line('There is nothing on this machine.')
    for (const file of files) output.line(remove ? `Removed ${file}` : file)
    if (files.length > 0 && !remove) output.line('turnwise telemetry --remove deletes them.')
  },
})

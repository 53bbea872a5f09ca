/** Describes the processes of a trainer: their environment, and the reasons why they ended. */
import { tf32Override } from '#shared/runtimeEnvironment.ts'
import { pythonEnvironment } from '#host/python/pythonEnvironment.ts'
import type { EngineConfig } from './launch.ts'

/** The trainer's processes find the reward code's runtime, and ask no model hub unless the config names a model for them. */
export const trainerEnvironment = (threads: number | null, { model }: EngineConfig): NodeJS.ProcessEnv => ({
  ...(model === null ? { HF_HUB_OFFLINE: '1' } : {}),
  HF_HUB_DISABLE_TELEMETRY: '1',
  ...pythonEnvironment(null),
  // PyTorch's use of TF32 is the trainer's business.
  [tf32Override]: undefined,
  // The folder of a script is no place to import from.
  PYTHONSAFEPATH: '1',
  PYTHONIOENCODING: 'utf-8',
  TURNWISE_NODE: process.execPath,
  ...(Object.hasOwn(process.versions, 'electron') ? { ELECTRON_RUN_AS_NODE: '1' } : {}),
  ...(threads === null ? {} : { OMP_NUM_THREADS: `${threads}` }),
})

/** Finds the error in the last output: a launcher adds lines of its own around it. */
export function lastWords(tail: string): string | null {
  const sentence = /^turnwise: (.+)$/m.exec(tail)?.[1]
  if (sentence !== undefined) return sentence
  const killed = /Signal \d+ \((SIG(?!TERM)\w+)\) received by PID (\d+)/.exec(tail)
  if (killed !== null) return `its process ${killed[2] ?? ''} was ended by ${killed[1] ?? 'a signal'}.`
  const lines = tail.split('\n').map((line) => line.replace(/^\[?rank\d+\]?:\s*/, '').trim())
  const exceptions = lines.filter((line) => /^[\w.]*(?:Error|Exception|Interrupt)\b.*:/.test(line))
  const own = exceptions.filter((line) => !/ChildFailedError|CalledProcessError/.test(line))
  return own.at(-1) ?? lines.findLast((line) => /\w/.test(line)) ?? null
}

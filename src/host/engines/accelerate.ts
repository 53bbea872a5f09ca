/** Checks with accelerate itself if it can do on this machine what a config file of its own asks for. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { z } from 'zod'
import { conflict } from '#shared/config/problems.ts'
import { ConfigError } from '#shared/errors.ts'
import type { AllowedInterpreter } from '#host/python/consent.ts'
import { programOf, startProgram } from '#host/python/program.ts'
import { pythonEnvironment } from '#host/python/pythonEnvironment.ts'
import type { AllowedEngine } from './engineCode.ts'
import {
  type AccelerateFile,
  accelerateFileOf,
  type EngineConfig,
  launchers,
  splittingTypes,
} from './launch.ts'
import { lastWords } from './trainerProcess.ts'

/** Script that makes the accelerator a trainer would make, and writes down what it is. */
const probe = `
import json, sys
from accelerate import Accelerator
state = Accelerator().state
if state.is_main_process:
    said = {"type": state.distributed_type.value, "processes": state.num_processes, "device": state.device.type}
    with open(sys.argv[1], "w") as file:
        json.dump(said, file)
`

const answer = z.object({ type: z.string(), processes: z.int(), device: z.string() })

const longestMs = 180_000

/**
 * Starts processes as the file says, without training. A file for several machines cannot be tried on one. Errors: ConfigError with
 * accelerate's words where it refuses, or makes something else than the file says.
 */
export async function requireAccelerate(
  engine: EngineConfig,
  { interpreter, settings: text }: Pick<AllowedEngine, 'interpreter' | 'settings'>,
): Promise<void> {
  const { launcher, accelerateConfig } = engine
  if (launcher !== 'accelerate' || accelerateConfig === null || text === null) return
  const file = accelerateFileOf(text)
  if (file === null || file.num_machines > 1) return
  const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-accelerate-'))
  try {
    const script = path.join(folder, 'probe.py')
    const said = path.join(folder, 'said.json')
    const settings = path.join(folder, 'settings.yaml')
    writeFileSync(script, probe)
    writeFileSync(settings, text)
    const words = launchers.accelerate({ script, engine, settings })
    const all = 'args' in words ? { args: [...words.args, said] } : words
    const { exitCode, tail } = await run(interpreter, all, folder)
    if (exitCode !== 0)
      throw refusal(accelerateConfig, (lastWords(tail) ?? 'it ended without a word').replace(/\.$/, ''))
    requireSame(accelerateConfig, file, answer.parse(JSON.parse(readFileSync(said, 'utf8'))))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function run(
  interpreter: AllowedInterpreter,
  words: Parameters<typeof startProgram>[1],
  folder: string,
) {
  // The output is of interest only on failure, and then in the refusal.
  const program = startProgram(await programOf(interpreter), words, {
    folder,
    environment: pythonEnvironment(null),
    isQuiet: true,
  })
  const timer = setTimeout(() => program.kill(), longestMs)
  try {
    return await program.ended
  } finally {
    clearTimeout(timer)
    program.kill()
  }
}

/** Refuses a config that accelerate would change in silence: without a GPU, it replaces FSDP by one plain process. */
function requireSame(name: string, asked: AccelerateFile, made: z.output<typeof answer>): void {
  if (!splittingTypes.includes(asked.distributed_type) || made.type === asked.distributed_type) return
  const processes = made.processes === 1 ? 'one process' : `${made.processes} processes`
  throw refusal(
    name,
    `asked for ${asked.distributed_type}, it makes ${processes} of type ${made.type} on ${made.device}`,
  )
}

const refusal = (file: string, words: string) =>
  new ConfigError(
    [
      conflict(
        'engine.accelerateConfig',
        `accelerate cannot do here what ${path.basename(file)} says: ${words}.`,
      ),
    ],
    'Nothing was started. DeepSpeed and FSDP need GPUs, and DeepSpeed its package, where the trainer runs.',
  )

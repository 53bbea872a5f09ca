/**
 * Keeps released sessions of ONNX Runtime for whoever opens the same program next. Preparing one takes a third of a small
 * training, and a process of tests trains many times on the same model. Tests that measure their process go without
 * (`alone` in vitest.config.ts).
 */
import { createHash } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import type { InferenceSession as Ort } from 'onnxruntime-node'
import { InferenceSession } from '#engine/runtime/onnxRuntime.ts'

interface Kept {
  readonly key: string
  readonly session: InferenceSession
}

/** The least recently released first. */
const kept: Kept[] = []
/** Each holds the memory that its largest batch took. */
const most = 12

/** What tells the files of a folder from others of the same names. */
function filesIn(folder: string): unknown[] {
  return readdirSync(folder).map((name) => {
    const { ino, size, mtimeMs } = statSync(path.join(folder, name))
    return [name, ino, size, mtimeMs]
  })
}

/** Sessions of one key compute the same from the same; null where one has a state of its own, on a device. */
function keyOf(program: Uint8Array, options: Ort.SessionOptions): string | null {
  if (options.preferredOutputLocation !== undefined || options.enableProfiling === true) return null
  if (options.executionProviders?.some((provider) => provider !== 'cpu') === true) return null
  const entries = options.extra?.['session'] as Readonly<Record<string, string>> | undefined
  const folder = entries?.['model_external_initializers_file_folder_path']
  const files = folder === undefined ? [] : filesIn(folder)
  return createHash('sha256')
    .update(program)
    .update(JSON.stringify([options, files]))
    .digest('hex')
}

/** A session that its release gives back. */
function lent({ key, session }: Kept): InferenceSession {
  let isReleased = false
  const whileHeld =
    <Arguments extends readonly unknown[], Result>(act: (...given: Arguments) => Promise<Result>) =>
    (...given: Arguments): Promise<Result> =>
      isReleased ? Promise.reject(new Error('The session has been released.')) : act(...given)
  return Object.create(session, {
    run: { value: whileHeld(session.run.bind(session)) },
    release: {
      value: whileHeld(async () => {
        isReleased = true
        kept.push({ key, session })
        if (kept.length > most) await kept.shift()?.session.release()
      }),
    },
  }) as InferenceSession
}

const create = InferenceSession.create.bind(InferenceSession)

InferenceSession.create = async (...[given, chosen]: readonly unknown[]): Promise<InferenceSession> => {
  const [program, options] = [given as Uint8Array, chosen as Ort.SessionOptions]
  const key = keyOf(program, options)
  if (key === null) return create(program, options)
  const at = kept.findLastIndex((each) => each.key === key)
  const [known] = at === -1 ? [] : kept.splice(at, 1)
  return lent(known ?? { key, session: await create(program, options) })
}

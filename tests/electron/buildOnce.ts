/** Builds once for all tests that look at what is built. */
import { buildProject, buildVariable } from './builtProject.ts'

let built: ReturnType<typeof buildProject> | null = null

export function setup(): void {
  built = buildProject()
  process.env[buildVariable] = built.folder
}

export function teardown(): void {
  Reflect.deleteProperty(process.env, buildVariable)
  built?.[Symbol.dispose]()
}

import { readFileSync } from 'node:fs'

interface PackageManifest {
  readonly version: string
  readonly dependencies: Readonly<Record<string, string>>
}

function packageManifest(): PackageManifest {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return JSON.parse(text) as PackageManifest // our own file
}

export const appVersion = (): string => packageManifest().version

/** Of the programs that runs, history and user code depend on. */
export function runtimeVersions(): Record<string, string> {
  const { dependencies } = packageManifest()
  const named = ['onnxruntime-node', 'better-sqlite3', 'quickjs-emscripten-core']
  return {
    node: process.versions.node,
    ...Object.fromEntries(named.map((name) => [name, dependencies[name] ?? 'unknown'])),
  }
}

/** Turnwise and what it computes with: numbers of two runs are comparable to the last bit only where this is the same. */
export function describeVersions(): string {
  const { version, dependencies } = packageManifest()
  const runtime = `onnxruntime-node ${dependencies['onnxruntime-node'] ?? 'unknown'}`
  return `turnwise ${version}, ${runtime}, node ${process.versions.node}, ${process.platform}-${process.arch}`
}

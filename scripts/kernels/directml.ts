/**
 * The kernels of DirectML's provider that our programs ask for, out of the runtime's own list: `node scripts/kernels/directml.ts
 * FILE`, where FILE is docs/OperatorKernels.md of the runtime's repository, which its build generates from what is
 * registered. Writes tests/fixtures/kernels/directml.json.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { allKernels } from './programs.ts'
import type { KernelRow } from './table.ts'

const output = path.join(import.meta.dirname, '../../tests/fixtures/kernels/directml.json')

const section = /## Operators implemented by DmlExecutionProvider([\s\S]*?)(?=\n## |$)/

/** The rows of the provider's section, by operator as our signatures name it. */
function readRows(document: string): Map<string, KernelRow[]> {
  const [, text = ''] = section.exec(document) ?? []
  const rows = new Map<string, KernelRow[]>()
  for (const part of text.split('**Operator Domain:** ').slice(1)) {
    const [domain = ''] = /[\w.]+/.exec(part) ?? []
    for (const [operator, found] of readDomain(part)) {
      rows.set(domain === 'ai.onnx' ? operator : `${domain}.${operator}`, found)
    }
  }
  return rows
}

/** Older versions of an operator stand below the newest, without its name and what else they share with it. */
function readDomain(part: string): Map<string, KernelRow[]> {
  const rows = new Map<string, KernelRow[]>()
  let [operator, parameters] = ['', '']
  for (const line of part.split('\n')) {
    const [, name = '', form = '', versions = '', types = ''] = line.split('|')
    if (!/^\d+\+|^\[/.test(versions)) continue
    if (name !== '') [operator, parameters] = [name, form]
    const forms = parameters.split('<br><br>or<br><br>').map(readForm)
    rows.set(operator, [...(rows.get(operator) ?? []), { versions, forms, types: readTypes(types) }])
  }
  return rows
}

/** `*in* data:**T**<br> *out* reduced:**tensor(int64)**` */
function readForm(text: string): KernelRow['forms'][number] {
  const of = (kind: string) =>
    [...text.matchAll(/\*(in|out)\* [\w.]+:\*\*([\w()]+)\*\*/g)].flatMap(([, found, type = '']) =>
      found === kind ? [type] : [],
    )
  return { inputs: of('in'), outputs: of('out') }
}

/** `**T** = tensor(float), tensor(float16)<br/> **U** = tensor(float)` */
const readTypes = (text: string): KernelRow['types'] =>
  Object.fromEntries(
    [...text.matchAll(/\*\*(\w+)\*\* = ([^*<]+)/g)].map(([, name = '', types = '']) => [
      name,
      types.trim().split(', '),
    ]),
  )

const [file] = process.argv.slice(2)
if (file === undefined) throw new Error('Name the list of kernels.')
const all = readRows(readFileSync(file, 'utf8'))
const asked = await allKernels('dml')
const wanted = new Set(Array.from(asked.keys(), (signature) => signature.slice(0, signature.indexOf('('))))
const rows = ['If', 'Loop', ...wanted].sort().flatMap((name) => {
  const found = all.get(name)
  return found ? [[name, found] as const] : []
})
writeFileSync(output, `${JSON.stringify(Object.fromEntries(rows), null, 1)}\n`)

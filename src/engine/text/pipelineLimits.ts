/**
 * Tokenizer files carry programs: regular expressions and chains of text rewrites. JavaScript cannot stop a regular
 * expression once it runs, so what could run for ever is turned away before it starts.
 */
import { hasBoundedBacktracking } from './patternSafety.ts'

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Published files stay below a dozen steps; the limits leave room and bound time and size. */
const limits = { depth: 24, nodes: 4096, patternLength: 20_000, growth: 4096, templateItems: 64 }

const stages = ['normalizer', 'pre_tokenizer', 'post_processor', 'decoder'] as const

/** Why the pipeline of a tokenizer.json must not be run, as half a sentence; null when it may. */
export function pipelineFault(json: Readonly<Record<string, unknown>>): string | null {
  for (const stage of stages) {
    const survey = surveyStage(json[stage])
    if (typeof survey === 'string') return `its ${stage} ${survey}`
    if (survey.growth > limits.growth) return `its ${stage} could blow a text up ${survey.growth} times`
  }
  return null
}

interface Survey {
  /** How many times longer the text can become, all rewrites together. */
  growth: number
}

/** Visits every object below `root` once, in breadth; answers what it adds up to or what is wrong. */
function surveyStage(root: unknown): Survey | string {
  const survey: Survey = { growth: 1 }
  const seen = new Set<unknown>()
  let level: unknown[] = [root]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > limits.depth || seen.size > limits.nodes) return 'is nested too deep or too large'
    const next: unknown[] = []
    for (const node of level) {
      if (typeof node !== 'object' || node === null || seen.has(node)) continue
      seen.add(node)
      const fault = surveyNode(node, survey)
      if (fault !== null) return fault
      for (const child of Object.values(node)) next.push(child)
    }
    level = next
  }
  return survey
}

function surveyNode(node: object, survey: Survey): string | null {
  if (Array.isArray(node))
    return node.length > limits.templateItems && node.some(isRecord) ? 'has too many steps' : null
  if (!isRecord(node)) return null
  const regex = node['Regex']
  if (typeof regex === 'string' && !isHarmlessPattern(regex)) {
    return 'has a pattern that can take for ever on some texts'
  }
  if ((node['type'] === 'Split' || node['type'] === 'Replace') && !isPattern(node['pattern'])) {
    return 'has a step without a pattern'
  }
  survey.growth *= growthOf(node)
  return null
}

const isPattern = (pattern: unknown): boolean =>
  isRecord(pattern) && (typeof pattern['String'] === 'string' || typeof pattern['Regex'] === 'string')

const isHarmlessPattern = (source: string): boolean =>
  source.length <= limits.patternLength && hasBoundedBacktracking(source)

/** The longest that one character can become in this step. */
function growthOf(step: Readonly<Record<string, unknown>>): number {
  switch (step['type']) {
    case 'ByteLevel':
      return 2
    case 'Replace': {
      const { content, pattern } = step
      const from = isRecord(pattern) && typeof pattern['String'] === 'string' ? pattern['String'].length : 1
      return typeof content === 'string' ? Math.max(1, Math.ceil(content.length / Math.max(1, from))) : 1
    }
    case 'Prepend':
    case 'Metaspace': {
      const added = step['prepend'] ?? step['replacement']
      return typeof added === 'string' ? Math.max(1, added.length) : 1
    }
    default:
      return 1
  }
}

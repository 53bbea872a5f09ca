import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { RowColumn } from '#renderer/editor/types/ambient.ts'
import { libraries } from '#renderer/editor/types/libraries.ts'
import { createTypeService } from '#renderer/editor/types/typeService.ts'
import { startCode } from '#renderer/features/rewards/LibraryDialogs.tsx'

const service = createTypeService(libraries)

const columns: readonly RowColumn[] = [
  { name: 'question', kinds: { text: 3 }, examples: ['2 + 2'] },
  { name: 'answer', kinds: { number: 3 }, examples: [4] },
  { name: 'tags', kinds: { list: 3 }, examples: [['easy', 'sums']] },
  {
    name: 'meta data',
    kinds: { object: 2, null: 1 },
    examples: [{ level: 1, from: 'a' }, { level: 2 }, null],
  },
  { name: 'hint', kinds: { text: 1 }, missing: 2, examples: ['add'] },
]
service.setContext(columns)

const problems = (code: string, language: 'ts' | 'js' = 'ts') =>
  service.problems({ code, language }).map(({ from, to, sentence }) => [code.slice(from, to), sentence])

/** Labels offered where | stands. */
function offered(marked: string, language: 'ts' | 'js' = 'ts'): string[] {
  const at = marked.indexOf('|')
  const code = marked.replace('|', '')
  return service.complete({ code, language, at })?.items.map(({ label }) => label) ?? []
}

describe('completion', () => {
  test.each(['ts', 'js'] as const)('offers the columns of the row in %s', (language) => {
    const labels = offered('export default function score({ row }) {\n  return row.|\n}', language)
    expect(labels).toEqual(expect.arrayContaining(['question', 'answer', 'tags', 'meta data', 'hint']))
  })

  test('inserts a column that is no name in brackets', () => {
    const code = 'export default ({ row }) => row.'
    const list = service.complete({ code, language: 'ts', at: code.length })
    const item = list?.items.find(({ label }) => label === 'meta data')
    expect(item?.insert).toMatch(/^\??\.?\[['"]meta data['"]\]$/)
    expect(code.slice(0, item?.from ?? 0)).toBe('export default ({ row }) => row')
    expect(list?.from).toBe(code.length)
    expect(list?.items.find(({ label }) => label === 'answer')?.from).toBeNull()
  })

  test('offers what a reward function is given', () => {
    expect(offered('export const close = (input) => input.|')).toEqual(
      expect.arrayContaining(['prompt', 'completion', 'row', 'step', 'settings', 'log', 'random']),
    )
  })

  test('knows tokens, and the forms of rewards per token and turn', () => {
    expect(offered('export default ({ tokens }) => tokens?.at(0)?.|')).toEqual(
      expect.arrayContaining(['id', 'text', 'logprob', 'turn']),
    )
    const fine =
      "export const needs = ['tokens']\n" +
      'export default ({ tokens, completion }) => completion === "" ? { perTurn: [1] } : { perToken: (tokens ?? []).map(({ turn }) => turn) }'
    for (const language of ['ts', 'js'] as const) expect(problems(fine, language)).toEqual([])
    expect(problems('export default ({ tokens }) => tokens.length')).not.toEqual([])
  })

  test('knows how a step may end, and that it must say so', () => {
    const step = (answer: string) =>
      `export default { reset: () => ({ state: { n: 1 }, observation: 'go' }), step: ({ state }) => (${answer}) }`
    for (const language of ['ts', 'js'] as const) {
      expect(
        problems(
          step('{ state, reward: 1, terminated: state.n > 1, truncated: false, info: { correct: true } }'),
          language,
        ),
      ).toEqual([])
      expect(problems(step('{ reward: 1, terminated: false }'), language)).toEqual([])
      expect(problems(step('{ state, done: true }'), language)).toEqual([])
      expect(problems(step('{ state, truncated: true }'), language)).toEqual([])
      expect(problems(step('{ state, reward: 1 }'), language)).not.toEqual([])
      expect(problems(step("['next', 1, true, false, {}]"), language)).not.toEqual([])
    }
  })

  test('offers the settings of the module', () => {
    const code = 'export const settings = { tolerance: 0.1 }\nexport default ({ settings }) => settings.|'
    expect(offered(code)).toEqual(['tolerance'])
  })

  test('offers the inside of lists and objects seen in rows', () => {
    expect(offered("export default ({ row }) => row['meta data'].|")).toEqual(['from', 'level'])
    expect(offered('export default ({ row }) => row.tags[0].|')).toContain('toUpperCase')
  })

  test('keeps what stands in for the contract to itself', () => {
    const labels = offered('export default () => { | }')
    expect(labels).not.toContain('environmentOf')
    expect(labels).toContain('Math')
    expect(labels).not.toContain('document')
  })

  test('describes a column with what its rows hold', () => {
    const code = 'export default ({ row }) => row.'
    const found = service.describe({ code, language: 'ts', at: code.length, label: 'hint' })
    expect(found?.documentation).toBe(
      'Column of the data set: text in 1 row, missing in 2; for example "add".',
    )
  })
})

describe('problems', () => {
  test('none in code without a single type', () => {
    expect(
      problems(
        'export function right({ completion, row }) {\n  return completion === String(row.answer) ? 1 : 0\n}',
      ),
    ).toEqual([])
  })

  test.each(['ts', 'js'] as const)('a column that is not there, in %s', (language) => {
    expect(problems('export default function f({ row }) { return row.anser }', language)).toEqual([
      ['anser', 'The rows have no column “anser”. Is “answer” meant?'],
    ])
  })

  test('a method that the kind of the column does not have', () => {
    expect(problems('export default ({ row }) => row.answer.trim().length')).toEqual([
      ['trim', "Property 'trim' does not exist on type 'number'."],
    ])
  })

  test('a column that some rows lack', () => {
    expect(problems('export default ({ row }) => row.hint.length')).toEqual([
      ['row.hint', "'row.hint' is possibly 'undefined'."],
    ])
  })

  test('a result that is no number', () => {
    expect(problems('export default ({ completion, row }) => completion === row.question')).toEqual([
      [expect.any(String), 'A reward function returns a number or null, not boolean.'],
    ])
  })

  test('a path without a result', () => {
    const [[where, sentence] = []] = problems(
      'export default function f({ completion }) {\n  if (completion === "") return 0\n}',
    )
    expect(where).toBe('export default function f({ completion })')
    expect(sentence).toContain('Not every path returns')
  })

  test('things the sandbox does not have', () => {
    expect(problems('export default async () => { await fetch("x"); return 1 }')[0]).toEqual([
      'fetch',
      'There is no “fetch” in here: the network cannot be reached.',
    ])
    expect(problems('import fs from "node:fs"\nexport default () => fs ? 1 : 0')[0]?.[1]).toContain(
      'Nothing can be imported',
    )
  })

  test('broken syntax alone, as an error', () => {
    const code = 'export default ({ row }) => {\n  return row.anser +\n}'
    const found = service.problems({ code, language: 'js' })
    expect(found).toHaveLength(1)
    expect(found[0]).toMatchObject({ severity: 'error', sentence: 'Expression expected.' })
    expect(code.slice(0, found[0]?.from).split('\n')).toHaveLength(3)
  })

  test('syntax that does not vanish with the types', () => {
    expect(problems('enum Grade { bad, good }\nexport default () => Grade.good')[0]?.[1]).toContain(
      'erasableSyntaxOnly',
    )
  })

  test('anything goes where nothing is known of the rows', () => {
    service.setContext(null)
    expect(problems('export default ({ row }) => row.whatever.length')).toEqual([])
    service.setContext(columns)
  })
})

describe('environments', () => {
  const reset = 'reset({ row, random }) { return { state: { target: row.answer, guesses: [] } } },'

  test('a turn knows the state that the episode began with', () => {
    const labels = offered(
      `export default { ${reset} step({ state, action }) { return { state: state.| } } }`,
    )
    expect(labels).toEqual(['guesses', 'target'])
  })

  test('a list that began empty takes anything', () => {
    const step =
      'step({ state, action }) { state.guesses.push(action); return { state, done: true, reward: 1 } }'
    expect(problems(`export default { ${reset} ${step} }`)).toEqual([])
  })

  test('an answer of the wrong kind', () => {
    const step = 'step({ state }) { return { state, done: "yes" } }'
    expect(problems(`export default { ${reset} ${step} }`)[0]?.[0]).toBe('done')
  })
})

describe('explanations', () => {
  test('the type under the pointer, at its place in the code as written', () => {
    const code = 'export default function f({ row }) {\n  return row.answer\n}'
    const at = code.indexOf('answer') + 2
    const found = service.explain({ code, language: 'ts', at })
    expect(found && code.slice(found.from, found.to)).toBe('answer')
    expect(found?.signature).toContain('number')
  })

  test('the parameter that is being written', () => {
    const code = 'export default function f({ log }) { log.metric("a", ) ; return 1 }'
    const found = service.signature({ code, language: 'ts', at: code.indexOf(', )') + 2 })
    expect(found?.parameter).toBe('value: number')
    expect(found?.before).toContain('metric(name: string')
  })
})

describe('the gallery', () => {
  const manifest = JSON.parse(readFileSync('resources/rewards/manifest.json', 'utf8')) as {
    rewards: { file: string }[]
  }

  test.each(manifest.rewards.map(({ file }) => file))('%s has no problem', (file) => {
    service.setContext(null)
    const found = problems(readFileSync(`resources/rewards/${file}`, 'utf8'))
    service.setContext(columns)
    expect(found).toEqual([])
  })
})

describe('code of losses', () => {
  const gallery = fileURLToPath(new URL('../../../resources/losses', import.meta.url))
  const files = readdirSync(gallery).filter((file) => file.endsWith('.ts'))
  const within = <Result>(ask: () => Result): Result => {
    service.setContext('loss')
    const result = ask()
    service.setContext(columns)
    return result
  }

  test.each(files)('%s of the gallery has no type errors', (file) => {
    const code = readFileSync(path.join(gallery, file), 'utf8')
    expect(within(() => service.problems({ code, language: 'ts' }))).toEqual([])
  })

  test('inputs, settings and functions are known, and nothing of rewards is', () => {
    const problemsIn = (body: string) => {
      const code = `export default defineLoss({ settings: { clip: { default: 0.2 }, mode: 'a' }, loss({ logp, mask, settings }) { ${body} } })`
      return within(() => service.problems({ code, language: 'ts' })).map(({ sentence }) => sentence)
    }
    expect(problemsIn('return -mean(min(exp(logp), settings.clip) * logp, mask, "sequence")')).toEqual([])
    expect(problemsIn('return mean(logp, mask, "word")').join()).toContain('word')
    expect(problemsIn('return settings.clap').join()).toContain('clap')
    expect(problemsIn('return settings.mode').join()).toContain('string')
    expect(problemsIn('return mean(logprob, mask)').join()).toContain('logprob')
    expect(problemsIn('return environmentOf()').join()).toContain('environmentOf')
  })
})

describe('code of workflows', () => {
  const gallery = fileURLToPath(new URL('../../../resources/workflows', import.meta.url))
  const files = readdirSync(gallery).filter((file) => file.endsWith('.ts'))
  const problemsIn = (code: string) => {
    service.setContext({ workflowOn: columns })
    const found = service.problems({ code, language: 'ts' })
    service.setContext(columns)
    return found.map(({ from, to, sentence }) => `${code.slice(from, to)}: ${sentence}`)
  }
  const episode = (body: string) =>
    `export default defineWorkflow({ settings: { tries: 3 }, async episode({ row, prompt, engine, tools, settings }) { ${body} } })`

  test.each(files)('%s of the gallery has no type errors', (file) => {
    expect(problemsIn(readFileSync(path.join(gallery, file), 'utf8'))).toEqual([])
  })

  test('the beginning of a new one has no type errors', () => {
    expect(problemsIn(startCode.workflow)).toEqual([])
  })

  test('requests, answers, rows, settings and trajectories are known', () => {
    const ends = 'return { ids: [], actions: [] }'
    expect(problemsIn(`import { defineWorkflow } from 'turnwise'\n${episode(ends)}`)).toEqual([])
    expect(
      problemsIn(
        episode(
          'return (await engine.generate({ ids: prompt.ids, samples: 2 })).map(({ allIds: ids, actionMask: actions }) => ({ ids, actions }))',
        ),
      ),
    ).toEqual([])
    expect(problemsIn(episode(`await engine.generate({ ids: [], maxToken: 3 }); ${ends}`)).join()).toContain(
      'maxToken',
    )
    expect(problemsIn(episode(`await engine.generate({}); ${ends}`))).toHaveLength(1)
    expect(problemsIn(episode(`(await engine.generate({ ids: [] })).map; ${ends}`)).join()).toContain('map')
    expect(problemsIn(episode(`tools.judge(); ${ends}`)).join()).toContain('judge')
    expect(problemsIn(episode(`settings.tries.length; ${ends}`)).join()).toContain('number')
    expect(problemsIn(episode(`row.anser; ${ends}`)).join()).toContain('The rows have no column “anser”')
    expect(problemsIn(episode('return { ids: [1] }'))).not.toEqual([])
    expect(problemsIn('export default defineWorkflow({ settings: {} })')).not.toEqual([])
  })

  test('a request is completed', () => {
    service.setContext({ workflowOn: null })
    const labels = offered(
      'export default defineWorkflow({ async episode({ engine }) { await engine.generate({ | }) ; return null } })',
    )
    service.setContext(columns)
    expect(labels).toEqual(expect.arrayContaining(['ids', 'messages', 'samples', 'greedy', 'stop']))
  })
})

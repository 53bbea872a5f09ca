/** What the search environment finds: in documents of a person's own, and at servers of both kinds. */
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import {
  requireKnownEnvironment,
  requireWorkingEnvironment,
  resolveEnvironment,
} from '#host/code/resolveEnvironment.ts'
import { withAbsolutePaths } from '#host/runs/runConfigFile.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import { play } from '../../rl/environments/play.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-search-'))
afterAll(() => {
  rmSync(folder, { recursive: true })
})

const place = {
  cacheDirectory: path.join(folder, 'cache'),
  onRequest() {
    throw new Error('No other machine may be asked.')
  },
}

const configOf = (settings: object) =>
  parseRunConfig({
    model: folder,
    data: { train: { episodes: 4 } },
    environment: { function: 'search', settings },
  })
const fileOf = (name: string, text: string): string => {
  const file = path.join(folder, name)
  writeFileSync(file, text)
  return file
}
const row = { question: 'What is the capital of France?', answer: 'Paris' }
const search = (words: string) => `<search>${words}</search>`

/** What each search is answered with. */
async function found(settings: object, ...queries: string[]): Promise<string[]> {
  await using world = await resolveEnvironment(configOf({ turns: 20, ...settings }), folder, place)
  const { observations } = await play(world.environment!, { row, actions: queries.map(search) })
  return observations.slice(1).map((text) => /<information>(.*)<\/information>/s.exec(text)![1]!)
}

const facts = [
  { title: 'Paris', text: 'Paris is the capital of France. It lies on the Seine.' },
  { title: 'Lyon', text: 'Lyon is a city in France, known for its cooking.' },
  { title: 'Berlin', text: 'Berlin is the capital of Germany.' },
  { title: '', text: 'Élodie crossed rivers "at night"; nobody saw her.' },
]

describe('documents of one’s own', () => {
  const jsonl = fileOf('facts.jsonl', facts.map((fact) => JSON.stringify(fact)).join('\n'))

  test('are found by their words, best first, with words in other forms and spellings', async () => {
    const [capital, one, river, nothing, sign] = await found(
      { corpus: jsonl, results: 2 },
      'capital of France',
      'BERLIN?',
      'elodie crossing a river',
      'zebra',
      '???',
    )
    expect(capital).toMatch(/^ {2}Paris: Paris is the capital of France\. It lies on the Seine\.\n {2}/)
    expect(capital!.split('\n')).toHaveLength(3)
    expect(one).toBe('  Berlin: Berlin is the capital of Germany.\n')
    expect(river).toMatch(/^ {2}Élodie crossed rivers/)
    expect([nothing, sign]).toEqual(['', ''])
  })

  test('nothing in a query is an operator', async () => {
    for (const query of [
      '"',
      'NOT',
      'title:',
      'a AND (b',
      'Paris*',
      "'; DROP TABLE documents; --",
      '^',
      'NEAR(x, 1)',
    ])
      expect(typeof (await found({ corpus: jsonl }, query))[0]).toBe('string')
    expect((await found({ corpus: jsonl }, 'NOT Paris'))[0]).toContain('capital of France')
  })

  test('are rows of a table, or paragraphs of a text', async () => {
    const csv = fileOf('facts.csv', 'title,contents\nParis,"Capital, of France"\n')
    expect(await found({ corpus: csv }, 'capital')).toEqual(['  Paris: Capital, of France\n'])
    const text = fileOf('facts.txt', '\nThe first\nparagraph.\r\n  \r\nThe second one.\n\n\n\nThird')
    expect(await found({ corpus: text }, 'first', 'second', 'third')).toEqual([
      '  The first\nparagraph.\n',
      '  The second one.\n',
      '  Third\n',
    ])
  })

  test('are indexed once, and again when they change', async () => {
    const file = fileOf('changing.jsonl', '{"text":"the old words"}')
    const indexes = () => readdirSync(path.join(place.cacheDirectory, 'corpora')).sort()
    await found({ corpus: file }, 'old')
    const before = indexes()
    const made = before.map((name) => statSync(path.join(place.cacheDirectory, 'corpora', name)).mtimeMs)
    expect(await found({ corpus: file }, 'old')).toEqual(['  the old words\n'])
    expect(before.map((name) => statSync(path.join(place.cacheDirectory, 'corpora', name)).mtimeMs)).toEqual(
      made,
    )
    expect(indexes()).toEqual(before)
    writeFileSync(file, '{"text":"new words altogether"}')
    expect(await found({ corpus: file }, 'old', 'words')).toEqual(['', '  new words altogether\n'])
    expect(indexes()).toHaveLength(before.length + 1)

    // Of a directory from elsewhere an index may be a link.
    for (const name of before) {
      const index = path.join(place.cacheDirectory, 'corpora', name)
      renameSync(index, path.join(place.cacheDirectory, name))
      symlinkSync(path.join(place.cacheDirectory, name), index)
    }
    writeFileSync(file, '{"text":"the old words"}')
    await expect(found({ corpus: file }, 'old')).rejects.toThrow('is a link')
    expect(indexes().every((name) => name.endsWith('.sqlite'))).toBe(true)
  })

  test('that are none are refused before and at the beginning, and leave nothing behind', async () => {
    const opened = (corpus: string) => resolveEnvironment(configOf({ corpus }), folder, place)
    const missing = path.join(folder, 'none.jsonl')
    await expect(opened(missing)).rejects.toThrow(`There is no file ${missing}.`)
    await expect(requireWorkingEnvironment(configOf({ corpus: missing }), folder)).rejects.toThrow(
      'There is no file',
    )
    await expect(opened(fileOf('a.pdf', 'x'))).rejects.toThrow('is not a file of documents')
    await expect(opened(fileOf('b.jsonl', '{"text":"x"}\n{"title":"y"}'))).rejects.toThrow(
      'row 2: it has no text',
    )
    await expect(opened(fileOf('c.jsonl', '{"text":"x"}\n{'))).rejects.toThrow(/row 2/)
    await expect(opened(fileOf('d.txt', '\n \n'))).rejects.toThrow('holds no documents')
    expect(
      readdirSync(path.join(place.cacheDirectory, 'corpora')).some((name) => name.includes('partial')),
    ).toBe(false)
    expect(existsSync(missing)).toBe(false)
  })

  test('lie beside the config that names them', () => {
    const config = withAbsolutePaths(configOf({ corpus: 'docs/facts.jsonl' }), '/somewhere', folder)
    expect(config.environment!.settings['corpus']).toBe(path.resolve('/somewhere/docs/facts.jsonl'))
  })

  test('are found among ten thousand', async () => {
    const many = Array.from({ length: 10_000 }, (_, i) =>
      JSON.stringify({ text: `entry ${i} of the list of things ${i % 97}` }),
    )
    const corpus = fileOf('many.jsonl', many.join('\n'))
    await using world = await resolveEnvironment(configOf({ corpus, turns: 1000 }), folder, place)
    const actions = Array.from({ length: 50 }, (_, i) => search(`entry ${i * 37} of the list`))
    const { observations } = await play(world.environment!, { row, actions })
    observations.slice(1).forEach((text, i) => expect(text).toContain(`entry ${i * 37} of`))
  })
})

describe('settings', () => {
  const refused = (settings: object) => () => requireKnownEnvironment(configOf(settings).environment!)

  test('name one thing to search in, as it is', () => {
    expect(refused({})).toThrow('has nothing to search in')
    expect(refused({ corpus: 'a.jsonl', url: 'http://a' })).toThrow('both a corpus and the address')
    expect(refused({ url: 'file:///etc/passwd' })).toThrow(
      'is not an address that begins with http:// or https://',
    )
    expect(refused({ url: 'http://a', api: 'bing' })).toThrow('does not support “bing”')
    expect(refused({ url: 'http://a', turns: 0 })).toThrow('1 to 1000 turns')
    expect(refused({ url: 'http://a', colour: 'red' })).toThrow('has no setting “colour”')
    expect(refused({ url: 'http://a', api: 'retriever' })).not.toThrow()
    expect(refused({ corpus: 'a.jsonl' })).not.toThrow()
  })
})

describe('a server', () => {
  type Answering = (request: { url: string; body: string }, response: ServerResponse) => void

  async function serving<T>(answer: Answering, use: (address: string) => Promise<T>): Promise<T> {
    const server = createServer((request, response) => {
      void bodyOf(request).then((body) => answer({ url: request.url ?? '', body }, response))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    } finally {
      server.closeAllConnections()
      server.close()
    }
  }

  async function bodyOf(request: IncomingMessage): Promise<string> {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    return Buffer.concat(parts).toString()
  }

  test('of the kind searxng is asked at the configured address and nowhere else', async () => {
    const asked: string[] = []
    const answer: Answering = ({ url }, response) => {
      asked.push(url)
      if (url.includes('moved')) {
        response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()
        return
      }
      const content = url.includes('huge') ? 'x'.repeat(3 << 20) : 'It is blue.'
      response.end(JSON.stringify({ results: [{ content }] }))
    }
    const texts = await serving(answer, (address) =>
      found({ url: `${address}/search` }, 'sky & sea', 'moved', 'huge'),
    )
    expect(asked).toEqual(['sky+%26+sea', 'moved', 'huge'].map((word) => `/search?q=${word}&format=json`))
    expect(texts[0]).toBe('  It is blue.\n')
    expect(texts[1]).toMatch(/^\[SearchTool Error:/)
    expect(texts[2]).toBe('[SearchTool Error: the answer is too large]')
  })

  test('of the kind retriever gets queries and topk, and answers with documents', async () => {
    const asked: unknown[] = []
    const answer: Answering = ({ url, body }, response) => {
      const { queries } = JSON.parse(body) as { queries: string[] }
      asked.push([url, JSON.parse(body)])
      const documents = ['One', 'Two'].map((text, i) => ({
        document: { id: i, contents: `${text} on ${queries[0]}` },
        score: 1 / (i + 1),
      }))
      const plain = queries[0] === 'plain' ? ['a text', { contents: 'an object' }] : documents
      response.end(JSON.stringify({ result: [plain] }))
    }
    const texts = await serving(answer, (address) =>
      found({ url: `${address}/retrieve`, api: 'retriever', results: 2 }, 'sky', 'plain'),
    )
    expect(asked[0]).toEqual(['/retrieve', { queries: ['sky'], topk: 2, return_scores: true }])
    expect(texts).toEqual(['  One on sky\n  Two on sky\n', '  a text\n  an object\n'])
  })

  test('that fails is a sentence in that episode, and the others go on', async () => {
    const answer: Answering = ({ url }, response) => {
      if (url.includes('late')) return
      if (url.includes('broken')) response.writeHead(500)
      response.end(
        url.includes('odd')
          ? '{"results":7}'
          : url.includes('text')
            ? 'no JSON'
            : '{"results":[{"content":"fine"}]}',
      )
    }
    await serving(answer, async (address) => {
      const config = configOf({ url: address, timeoutSeconds: 0.3 })
      await using world = await resolveEnvironment(config, folder, place)
      const [begun] = await world.environment!.reset([{ row, seed: 1 }])
      if (begun === undefined || 'failure' in begun) throw new Error('Expected an episode.')
      const answers = await world.environment!.step(
        ['late', 'broken', 'odd', 'text', 'good'].map((word) => ({
          row,
          seed: 1,
          state: begun.state,
          action: search(word),
        })),
      )
      const told = answers.map((turn) =>
        'failure' in turn ? null : (turn.columns?.['search error'] ?? 'none'),
      )
      expect(told).toEqual([
        expect.stringMatching(/timeout/),
        'the search engine responded with status 500',
        'the answer has no list called “results”',
        expect.stringMatching(/JSON/),
        'none',
      ])
    })
    const closed = await serving(answer, (address) => Promise.resolve(address))
    const gone = await found({ url: closed }, 'sky')
    expect(gone[0]).toMatch(/^\[SearchTool Error: fetch failed: .*(refused|ECONNREFUSED)/)
  })

  test('on another machine is told of before it is asked', async () => {
    let told = 0
    const config = configOf({ url: 'http://search.invalid/' })
    await using world = await resolveEnvironment(config, folder, { ...place, onRequest: () => told++ })
    const { observations } = await play(world.environment!, { row, actions: [search('sky')] })
    expect(observations[1]).toContain('[SearchTool Error:')
    expect(told).toBe(1)
  })
})

import { expect, test } from 'vitest'
import { consentWords } from '#renderer/parts/consentWords.ts'

const python = '/usr/bin/python3'
const program = (args: readonly string[], env = {}) =>
  consentWords(python, `mcp:${JSON.stringify({ args, env })}`)

test('an MCP server is read as the command that starts it, with its variables', () => {
  expect(program(['-m', 'server', '--zone=Europe/Berlin'], { MODE: 'plain' })).toBe(
    '/usr/bin/python3 -m server --zone=Europe/Berlin\n  MODE=plain',
  )
})

test('different commands never read alike', () => {
  const words = [['a b'], ['a', 'b'], ['"a b"'], ['a\nb'], ['', 'a']].map((args) => program(args))
  expect(new Set(words).size).toBe(words.length)
  expect(program(['x'], { A: '1\n  B=2' })).not.toBe(program(['x'], { A: '1', B: '2' }))
})

test('a server at an address is read with what is sent along', () => {
  const path = `mcp:${JSON.stringify({ url: 'https://docs.example.org/mcp', headers: { authorization: 'Bearer ${KEY}' } })}`
  expect(consentWords('https://docs.example.org', path)).toBe(
    'https://docs.example.org/mcp\n  authorization: "Bearer ${KEY}"',
  )
})

test('files are named, and what is not understood stands as it is', () => {
  expect(consentWords(python, 'interpreter:/usr/bin/python3.11')).toBe('the program /usr/bin/python3.11')
  expect(consentWords(python, 'mcp:/home/me/server.py')).toBe('the file /home/me/server.py')
  expect(consentWords(python, '/home/me/reward.py')).toBe('/home/me/reward.py')
  expect(consentWords(python, 'mcp:{"args":["x"],"env":{},"cwd":"/"}')).toBe(
    '{"args":["x"],"env":{},"cwd":"/"}',
  )
})

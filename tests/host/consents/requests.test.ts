/** Whatever asks another machine for something names a purpose, which the page about privacy lists. */
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { connectionPurposes, purposeNames } from '#shared/connections.ts'
import { countBeside, countOutboundRequest, requestsByPurpose } from '#host/outboundRequests.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const source = path.resolve(import.meta.dirname, '../../../src')
const textOf = (file: string) => readFileSync(path.join(source, file), 'utf8')
const filesWith = (pattern: RegExp) =>
  globSync('**/*.ts', { cwd: source }).filter((file) => pattern.test(textOf(file)))

test('requests are counted by their purpose; those of older versions in none', () => {
  const folder = temporaryFolder()
  expect(Object.values(requestsByPurpose(folder)).every((count) => count === 0)).toBe(true)
  for (const purpose of ['judge', 'judge', 'hub'] as const) countOutboundRequest(folder, purpose)
  countBeside(path.join(folder, 'cache'), 'rollout')
  expect(requestsByPurpose(folder)).toMatchObject({ judge: 2, hub: 1, rollout: 1, search: 0 })
})

test('each purpose has a mark of its own and something that makes such requests', () => {
  expect(new Set(purposeNames.map((purpose) => connectionPurposes[purpose].mark)).size).toBe(
    purposeNames.length,
  )
  const named = globSync('host/**/*.ts', { cwd: source }).flatMap((file) =>
    [...textOf(file).matchAll(/count(?:Beside|OutboundRequest)\(\w+, '(\w+)'\)/g)].map(([, name]) => name),
  )
  expect(new Set(named)).toEqual(new Set(purposeNames))
})

test('connections are opened in these files alone; a new one is told of to the page', () => {
  const doors = filesWith(/(?<![.\w])fetch\(|https?\.request|net\.connect|new WebSocket\(/).filter(
    (file) => !/^(?:engine|renderer)\//.test(file), // from the card, and from the window's own host
  )
  expect(doors.toSorted()).toEqual([
    'cli/agentCommand.ts', // from a command to the run that it trains
    'host/code/retrievers.ts', // search
    'host/devices/packageIndex.ts', // library
    'host/hub/hub.ts', // hub
    'host/python/mcpConnection.ts', // search
    'host/remote/connection.ts', // judge, teacher, rollout
    'host/webhook.ts', // webhook
    'shared/api/webSocketPort.ts', // from the window to its host
  ])
})

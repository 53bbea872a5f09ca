/** What the API says of losses that people write. */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { builtInAlgorithm } from '#rl/algorithms/registry.ts'
import { lossCheckNames } from '#shared/losses.ts'
import { SandboxLink } from '#host/sandbox/sandboxLink.ts'
import { createHostFixture } from '../api/hostFixture.ts'
import { isWhole, wholeTitle } from '../../sweeps.ts'

const fixture = createHostFixture()
const { client } = fixture
afterAll(async () => {
  expect(fixture.faults).toEqual([])
  await fixture[Symbol.asyncDispose]()
})

const resources = path.join(import.meta.dirname, '../../../resources/losses')
const gallery = (id: string) => ({
  language: 'ts' as const,
  code: readFileSync(path.join(resources, `${id}.ts`), 'utf8'),
})
const written = (body: string, rest = '') => ({
  language: 'js' as const,
  code: `export default defineLoss({ ${rest}\n  loss({ logp, oldLogp, advantages, mask, settings }) {\n    ${body}\n  } })`,
})
const ratio = 'const ratio = exp(logp - oldLogp);'

const title = 'the gallery has every written loss, and each can be learned from'
test.runIf(isWhole)(wholeTitle(title), async () => {
  const entries = (await client.call('rewards.gallery')).filter(({ kind }) => kind === 'loss')
  const files = readdirSync(resources).filter((file) => file.endsWith('.ts'))
  expect(entries.map(({ id }) => `${id}.ts`).sort()).toEqual(files.sort())
  for (const { id, title, language, code } of entries) {
    expect(title).toBe(builtInAlgorithm(id).title)
    const { problem, checks } = await client.call('losses.check', {
      code: { language: language!, code: code! },
    })
    expect(problem).toBeNull()
    expect(checks, id).toEqual(lossCheckNames.map((name) => ({ name, fault: null })))
  }
})

test('a loss says what it is, what it needs and which settings it has', async () => {
  const check = await client.call('losses.check', { code: gallery('ppo') })
  expect(check.description).toMatchObject({
    title: 'PPO as code',
    experience: 'rollout',
    groupSize: 1,
    advantages: 'computed by this code',
  })
  expect(check.description?.settings[0]).toMatchObject({
    key: 'algorithm.settings.clip',
    default: 0.2,
    control: { kind: 'number', from: { value: 0 }, to: { value: 1 } },
  })
  expect(check.recorded?.needs).toEqual([
    'log-probabilities from before the update',
    'the reference policy',
    'a critic',
  ])
  expect(check.recorded?.operations).toBeGreaterThan(20)
  const without = await client.call('losses.check', { code: gallery('ppo'), settings: { klCoefficient: 0 } })
  expect(without.recorded?.needs).not.toContain('the reference policy')
  expect(without.recorded?.metrics).not.toContain('kl')
})

test('each check that fails says so with its token, and the others go on', async () => {
  const { checks, batch } = await client.call('losses.check', {
    code: written(`${ratio} return mean(ratio * advantages)`),
  })
  const faults = new Map(checks.map(({ name, fault }) => [name, fault]))
  expect([...faults.keys()]).toEqual([...lossCheckNames])
  expect(faults.get('sign')?.message).toContain('The sign is wrong: token')
  expect(faults.get('padding')?.message).toContain('mean(x, mask)')
  expect(faults.get('gradient')).toBeNull()
  const { row, place } = faults.get('sign')!.token!
  expect(batch[row]?.turns[place]).toBeGreaterThanOrEqual(0)
  const dead = await client.call('losses.check', {
    code: written('return -mean(advantages * oldLogp, mask)'),
  })
  expect(dead.checks.map(({ name }) => name)).toEqual(['not-finite', 'no-gradient'])
})

test('code that does not load or cannot be recorded says where', async () => {
  const broken = await client.call('losses.check', {
    code: { language: 'js', code: '\nexport default (' },
  })
  expect(broken).toMatchObject({ description: null, recorded: null, problem: { line: 2 }, checks: [] })
  const branch = await client.call('losses.check', {
    code: written(`${ratio} if (ratio > 1) return -mean(ratio, mask); return mean(ratio, mask)`),
  })
  expect(branch).toMatchObject({
    description: { title: null },
    recorded: null,
    problem: { line: 3, message: expect.stringContaining('condition depends on tensors') as string },
  })
  const reward = await client.call('losses.check', {
    code: { language: 'js', code: 'export default () => 1' },
  })
  expect(reward.problem?.message).toContain('is not a loss')
  const settings = await client.call('losses.check', { code: gallery('grpo'), settings: { clip: 7 } })
  expect(settings.problem?.message).toMatch(/clip/)
})

test('a loss is drawn beside a built-in one', async () => {
  const drawn = await client.call('losses.draw', { code: gallery('grpo'), compare: 'grpo' })
  if ('problem' in drawn) throw new Error(drawn.problem.message)
  expect(drawn.axis).toBe('ratio')
  expect(drawn.curves.map(({ of }) => of)).toEqual(['positive', 'negative'])
  drawn.curves.forEach(({ loss, gradient }, i) => {
    loss.forEach((x, k) => expect(x).toBeCloseTo(drawn.compared![i]!.loss[k]!, 10))
    gradient.forEach((x, k) => expect(x).toBeCloseTo(drawn.compared![i]!.gradient[k]!, 10))
  })
  const wide = await client.call('losses.draw', {
    code: gallery('grpo'),
    settings: { clip: 0.5, klCoefficient: 0 },
    range: [0.5, 3],
  })
  if ('problem' in wide) throw new Error(wide.problem.message)
  expect([wide.points[0], wide.points.at(-1), wide.compared]).toEqual([0.5, 3, null])
  expect(Math.min(...wide.curves[0]!.loss.map(Number))).toBeCloseTo(-1.5, 12)
})

test('pairs are drawn over the margin, and what is not finite is left out', async () => {
  const pairs = await client.call('losses.draw', { code: gallery('dpo'), compare: 'grpo' })
  expect(pairs).toMatchObject({
    axis: 'margin',
    curves: [{ of: 'chosen' }, { of: 'rejected' }],
    compared: null,
  })
  const wrong = await client.call('losses.draw', {
    code: written(`${ratio} return -mean(advantages / (ratio - 1), mask)`),
    range: [0.5, 1.5],
  })
  if ('problem' in wrong) throw new Error(wrong.problem.message)
  expect(wrong.points[80]).toBe(1)
  expect(wrong.curves[0]!.loss[80]).toBeNull()
})

test('a loss of the library is an algorithm to choose, and its runs are known by its name', async () => {
  const { id: rewardId } = await client.call('rewards.create', { kind: 'loss', name: 'Mine' })
  const saved = await client.call('rewards.save', { rewardId, ...gallery('grpo') })
  const broken = await client.call('rewards.create', { kind: 'loss', name: 'Broken' })
  await client.call('rewards.save', { rewardId: broken.id, language: 'js', code: 'export default (' })
  for (const [name, body] of [
    ['Taught', '({ topLogp, mask }) => mean(sum(exp(topLogp), "token"), mask)'],
    ['Untraceable', '() => { throw new Error("no") }'],
  ] as const) {
    const { id } = await client.call('rewards.create', { kind: 'loss', name })
    const code = `export default defineLoss({ loss: ${body} })`
    await client.call('rewards.save', { rewardId: id, language: 'js', code })
  }
  using starting = vi.spyOn(SandboxLink, 'start')
  const own = (await client.call('settings.algorithms')).filter(({ id }) => id.includes('rw_'))
  const mine = own.find(({ title }) => title === 'Mine')
  expect(mine).toMatchObject({ id: saved.file, experience: 'rollout', groupSize: { default: 8 } })
  const needing = own.map(({ title, needsRewards }) => [title, needsRewards])
  expect(Object.fromEntries(needing)).toEqual({ Mine: true, Taught: false, Untraceable: true })
  expect(mine?.settings.map(({ key }) => key)).toEqual([
    'algorithm.settings.clip',
    'algorithm.settings.klCoefficient',
  ])
  // Code is opened once, in a process that is asked for.
  const started = starting.mock.calls.length
  expect(started).toBeGreaterThan(0)
  await client.call('settings.algorithms')
  expect(starting).toHaveBeenCalledTimes(started)
  const runId = await fixture.start({ steps: 1, algorithm: { id: saved.file } })
  expect(await client.call('rewards.usedBy', { rewardId })).toEqual([{ runId, version: saved.hash }])
  expect(await fixture.reached(runId, 'finished', 'failed')).toMatchObject({
    status: 'finished',
    algorithm: 'Mine',
  })
})

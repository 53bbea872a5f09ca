/** Scorers of ReasoningGym, of which some evaluate what they are given: a package in its place, with scorers of each kind. */
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import { scoreRewards } from '#rl/rollout/trajectoryRewards.ts'
import { resolveRewards } from '#host/code/resolveRewards.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { consentsTo, hasPython, interpreter } from './interpreter.ts'

const folder = mkdtempSync(path.join(temporaryFolder(), 'gym-'))
const written = path.join(folder, 'written')
const payload = `open(${JSON.stringify(written)}, 'w').write('x')`

const library = `
from collections import namedtuple

def swallows(answer, entry):
    try:
        return eval(answer)
    except Exception:
        return 0.01

def compiles(answer, entry):
    exec(compile(entry["metadata"]["problem"], "<string>", "exec"))
    return 1.0

def plain(answer, entry):
    import fractions  # a module that comes late
    Pair = namedtuple("Pair", "given wanted")
    pair = Pair(answer, entry["answer"])
    return float(fractions.Fraction(int(pair.given == pair.wanted)))

def get_score_answer_fn(name):
    return {"swallows": swallows, "compiles": compiles, "plain": plain}[name]
`

function plant(): void {
  const own = path.join(folder, 'packages', 'reasoning_gym')
  mkdirSync(own, { recursive: true })
  writeFileSync(path.join(own, '__init__.py'), library)
  writeFileSync(path.join(own, 'utils.py'), 'def extract_answer(text, tag_name): return None\n')
}

/** Scores one completion, as the reward of this id. */
async function scored(id: string, task: string, completion: string): Promise<number | null> {
  const config = parseRunConfig({
    model: 'm',
    data: { train: 't' },
    rewards: [{ function: id }],
    python: { interpreter },
  })
  await using rewards = await resolveRewards(config, mkdtempSync(path.join(folder, 'run-')), {
    consents: consentsTo(config, folder),
  })
  const row = {
    prompt: 'p',
    question: 'q',
    answer: '4',
    metadata: { source_dataset: task, problem: payload },
  }
  const [total] = await scoreRewards(rewards.specs, [{ prompt: 'p', completion, row, step: 1 }], 'fail')
  return total?.total ?? null
}

describe.skipIf(!hasPython())('tasks of ReasoningGym (skipped without Python 3.9)', () => {
  plant()
  beforeEach(() => vi.stubEnv('PYTHONPATH', path.join(folder, 'packages')))

  test('a scorer that evaluates nothing scores, with what the standard library makes of text', async () => {
    expect(await scored('reasoning-gym', 'plain', '4')).toBe(1)
    expect(await scored('reasoning-gym', 'plain', '5')).toBe(0)
  })

  test.each([
    ['swallows', payload],
    ['compiles', '4'],
  ])(
    'one that evaluates a completion or a row (%s) is refused before anything of it runs',
    async (task, completion) => {
      await expect(scored('reasoning-gym', task, completion)).rejects.toThrow(
        'name the reward reasoning-gym-evaluating',
      )
      expect(existsSync(written)).toBe(false)
    },
  )

  test('under the name that says so, allowed by itself, it does', async () => {
    expect(await scored('reasoning-gym-evaluating', 'swallows', '2 + 2')).toBe(4)
  })
})

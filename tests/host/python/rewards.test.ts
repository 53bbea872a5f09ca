import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { codeReference } from '#shared/config/codeReference.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import { openPython } from '#host/python/pythonCode.ts'
import { scoreRewards } from '#rl/rollout/trajectoryRewards.ts'
import { dryRun } from '#host/code/dryRun.ts'
import { readRewardCode } from '#host/code/rewardCode.ts'
import { requireKnownRewards, resolveRewards } from '#host/code/resolveRewards.ts'
import { judgeDigests } from '#host/runs/manifest.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { consentsTo, hasPython, interpreter } from './interpreter.ts'

const all = temporaryFolder()
const here = hasPython()
const name = (what: string) => `${what} (skipped without Python 3.9)`

function fileOf(code: string, file = 'rewards.py'): string {
  const whole = path.join(mkdtempSync(path.join(all, 'one-')), file)
  writeFileSync(whole, code)
  return whole
}

const configOf = (rewards: unknown, rest: object = {}, python: object = {}) =>
  parseRunConfig({ model: 'm', data: { train: 't' }, rewards, python: { interpreter, ...python }, ...rest })

const input = (completion: string, answer = 'x', step = 4) => ({
  prompt: `Say ${answer}`,
  completion,
  step,
  row: { prompt: `Say ${answer}`, answer, level: 2 },
})

async function totalsOf(
  config: ReturnType<typeof configOf>,
  inputs: readonly ReturnType<typeof input>[],
  folder = all,
) {
  await using rewards = await resolveRewards(config, mkdtempSync(path.join(folder, 'run-')), {
    consents: consentsTo(config, all),
  })
  return await scoreRewards(rewards.specs, inputs, 'null')
}

test('a missing interpreter is a sentence with what to do', async () => {
  const config = configOf(
    [{ function: fileOf('def f(completions): return []') }],
    {},
    { interpreter: '/nowhere/python9' },
  )
  await expect(resolveRewards(config, all)).rejects.toMatchObject({
    message: 'There is no Python interpreter “/nowhere/python9”.',
    hint: expect.stringContaining('python.interpreter') as string,
  })
})

describe.skipIf(!here)(name('reward functions as TRL calls them'), () => {
  const trl = `
import math
from dataclasses import dataclass

@dataclass
class Seen:
    calls: int = 0

def length(completions, **kwargs):
    return [float(len(completion)) / 7 for completion in completions]

def right(prompts, completions, answer, **kwargs):
    assert kwargs["level"] == [2] * len(prompts)
    return [1.0 if a in c else None for p, c, a in zip(prompts, completions, answer)]

async def later(completions, trainer_state, log_extra, log_metric, **kwargs):
    print("hello")
    log_extra("upper", [c.upper() for c in completions])
    log_metric("step", trainer_state.global_step)
    return [math.nan if c == "none" else trainer_state.global_step for c in completions]

def chats(prompts, completions, **kwargs):
    return [float(p[-1]["role"] == "user" and c[0]["role"] == "assistant") + len(c[0]["content"]) for p, c in zip(prompts, completions)]
`
  const samples = ['yes x', 'no', 'none'].map((text) => input(text))

  test('give the numbers that the function gives by itself', async () => {
    const file = fileOf(trl)
    const direct = JSON.parse(
      execFileSync(
        interpreter,
        [
          '-c',
          'import json, sys, rewards; print(json.dumps(rewards.length(json.loads(sys.argv[1]))))',
          JSON.stringify(samples.map(({ completion }) => completion)),
        ],
        { cwd: path.dirname(file), encoding: 'utf8' },
      ),
    ) as number[]
    const scored = await totalsOf(configOf([{ function: `${file}#length` }]), samples)
    expect(scored.map(({ total }) => total)).toEqual(direct)
  })

  test('get every column as a list, the step and the loggers; None and NaN do not apply', async () => {
    const file = fileOf(trl)
    const config = configOf([{ function: `${file}#right`, weight: 2 }, { function: `${file}#later` }])
    await requireKnownRewards(config, consentsTo(config, all))
    const scored = await totalsOf(config, samples)
    expect(scored.map(({ parts }) => parts)).toEqual([
      { right: 1, later: 4 },
      { right: null, later: 4 },
      { right: null, later: null },
    ])
    expect(scored[0]).toMatchObject({ total: 6, logged: { upper: 'YES X' }, metrics: { step: 4 } })
  })

  test('get lists of messages where prompts are messages', async () => {
    const file = fileOf(trl)
    const data = { train: 't', prompt: { messages: [{ role: 'user', content: '{prompt}' }] } }
    const scored = await totalsOf(configOf([{ function: `${file}#chats` }], { data }), samples)
    expect(scored.map(({ total }) => total)).toEqual([6, 3, 5])
    const asText = configOf([{ function: `${file}#length` }], { data }, { messages: false })
    expect((await totalsOf(asText, samples))[1]?.total).toBe(2 / 7)
  })

  test('get text of messages where they say that they take text, or are a reward_fn, with the prompt beside it', async () => {
    const file = fileOf(`
from __future__ import annotations; import re, typing

def reward_fn(completion, answer, prompt): return one(completion, answer, prompt)
def one(completion: str, answer=None, prompt=None):
    return float(bool(re.search(answer, completion))) + len(prompt) / 100

def batch(completions: typing.List[str], prompts, **kwargs):
    return [float(c.startswith("yes")) + len(p) / 100 for p, c in zip(prompts, completions)]

def chats(completion, prompt):
    return float(isinstance(completion, list) and isinstance(prompt, list))
`)
    const data = { train: 't', prompt: { messages: [{ role: 'user', content: '{prompt}' }] } }
    const names = ['reward_fn', 'one', 'batch', 'chats']
    const config = configOf(
      names.map((each) => ({ function: `${file}#${each}` })),
      { data },
    )
    await requireKnownRewards(config, consentsTo(config, all))
    const [first, second] = await totalsOf(config, samples)
    expect(first?.parts).toEqual({ reward_fn: 1.05, one: 1.05, batch: 1.05, chats: 1 })
    expect(second?.parts).toEqual({ reward_fn: 0.05, one: 0.05, batch: 0.05, chats: 1 })
  })

  test('get the ids of completions where the code speaks of them', async () => {
    const file = fileOf(
      'def f(completions, completion_ids):\n    return [sum(ids) for ids in completion_ids]',
    )
    const config = configOf([{ function: file }])
    await using rewards = await resolveRewards(config, mkdtempSync(path.join(all, 'run-')), {
      consents: consentsTo(config, all),
    })
    expect(rewards.specs[0]?.function.needsTokens).toBe(true)
    const tokens = [3, 4].map((id) => ({ id, text: '', logprob: null, turn: 0 }))
    const [scored] = await scoreRewards(rewards.specs, [{ ...input('a'), tokens }], 'fail')
    expect(scored?.total).toBe(7)
  })

  test('a file without a name behind it scores with all that it defines', async () => {
    const file = fileOf(
      `from os.path import join\n\ndef helper(x):\n    return x\n${trl.replace(/def chats[^]*$/, '')}`,
    )
    const scored = await totalsOf(configOf([{ function: file, name: 'all' }]), [input('x')])
    expect(Object.keys(scored[0]?.parts ?? {})).toEqual(['all.length', 'all.right', 'all.later'])
  })

  test('find what lies beside the file, and settings as keywords', async () => {
    const file = fileOf(
      'from beside import points\n\ndef f(completions, times, **kwargs):\n    return [points * times for _ in completions]',
    )
    writeFileSync(path.join(path.dirname(file), 'beside.py'), 'points = 3')
    const scored = await totalsOf(configOf([{ function: file, settings: { times: 2 } }]), [input('x')])
    expect(scored[0]?.total).toBe(6)
  })

  test('draw the same numbers when the same completions are scored again', async () => {
    const config = configOf([
      {
        function: fileOf(
          'import random\n\ndef f(completions):\n    return [random.random() for _ in completions]',
        ),
      },
    ])
    expect(await totalsOf(config, samples)).toEqual(await totalsOf(config, samples))
  })

  test('a run goes on with the code that it began with, and its digest says so', async () => {
    const file = fileOf('def f(completions):\n    return [0.25] * len(completions)')
    const config = configOf([{ function: file }])
    const run = mkdtempSync(path.join(all, 'run-'))
    const consents = consentsTo(config, all)
    const total = async () => {
      await using rewards = await resolveRewards(config, run, { consents })
      return (await scoreRewards(rewards.specs, [input('x')], 'fail'))[0]?.total
    }
    expect(await total()).toBe(0.25)
    const digests = judgeDigests(config, run)
    writeFileSync(file, 'def f(completions):\n    return [0.75] * len(completions)')
    expect(await total()).toBe(0.25)
    expect(judgeDigests(config, run)).toEqual(digests)
    rmSync(file)
    expect(await total()).toBe(0.25)
    expect(readFileSync(path.join(run, 'rewards', '0-rewards.py'), 'utf8')).toContain('0.25')
  })

  test('a dry run shows scores and what was printed', async () => {
    const file = fileOf(trl)
    const consents = consentsTo(configOf([{ function: file }]), all)
    const source = readRewardCode({ file, language: 'py' })
    const python = { interpreter, callSeconds: 60, messages: null, form: null, consents }
    const { rows } = await dryRun(source, [input('x'), input('none')], { function: 'later', python })
    expect(rows[0]).toMatchObject({ total: 0, lines: ['hello'], columns: { upper: 'X' } })
    expect(rows[1]?.total).toBeNull()
  })
})

describe.skipIf(!here)(name('rubrics as verifiers has them'), () => {
  const rubric = `
async def correct(completion, answer, **kwargs):
    return 1.0 if answer in completion else 0.0

def short(prompt, completion, state):
    assert state["answer"] == "x" and state["prompt"] == prompt
    return 1 / len(completion)

class Rubric:
    def __init__(self, funcs, weights):
        self.funcs, self.weights = funcs, weights

rubric = Rubric(funcs=[correct, short], weights=[1.0, 0.5])
pairs = [(correct, 2.0), short]
`
  test('are weighted sums, with what each function says as a metric', async () => {
    const file = fileOf(rubric)
    const config = configOf([
      { function: `${file}#rubric` },
      { function: `${file}#pairs` },
      { function: `${file}#correct` },
    ])
    const [scored] = await totalsOf(config, [input('x123')])
    expect(scored?.parts).toEqual({ rubric: 1.125, pairs: 2.25, correct: 1 })
    expect(scored?.metrics).toMatchObject({ correct: 1, short: 0.25 })
  })
})

describe.skipIf(!here)(name('what goes wrong in Python'), () => {
  const failureOf = async (code: string, python: object = {}) => {
    const [scored] = await totalsOf(configOf([{ function: fileOf(code) }], {}, python), [input('x')])
    return scored?.failures[0]?.message
  }

  test('an exception is the failure of its completions, with its line', async () => {
    expect(await failureOf('def f(completions):\n    x = {}\n    return x["gone"]')).toBe(
      "KeyError: 'gone' (line 3)",
    )
    expect(await failureOf('def f(completions):\n    raise SystemExit(3)')).toBe('SystemExit: 3 (line 2)')
  })

  test.each([
    ['return 1.0', 'Expected a list of numbers, one per completion, got float.'],
    ['return []', 'Expected 1 rewards, one per completion, got 0.'],
    ['return ["much"]', 'Expected a number or None, got str.'],
    ['return [float("inf")]', 'Expected a finite number or None, got inf.'],
  ])('%s is a sentence', async (line, sentence) => {
    expect(await failureOf(`def f(completions):\n    ${line}`)).toBe(sentence)
  })

  test('a missing package is named with the command that installs it', async () => {
    const file = fileOf('import no_such_package_here\n\ndef f(completions): pass')
    await expect(totalsOf(configOf([{ function: file }]), [])).rejects.toMatchObject({
      code: 'sandbox/failed',
      message: expect.stringMatching(
        /did not load \(line 1\): Python has no module named “no_such_package_here”\. Install it: \S+ -m pip install no-such-package-here$/,
      ) as string,
    })
  })

  test('a syntax error has its line, a function that is not there its name', async () => {
    await expect(totalsOf(configOf([{ function: fileOf('x = 1\ndef f(') }]), [])).rejects.toThrow(
      /\(line 2\): SyntaxError/,
    )
    const file = fileOf('def f(completions): pass')
    await expect(totalsOf(configOf([{ function: `${file}#g` }]), [])).rejects.toThrow(
      'no function called “g”',
    )
  })

  test('what is printed never reaches the protocol', async () => {
    const file = fileOf(`
import os, sys
print("top level", flush=True)

def f(completions):
    print('{"id": 1}' * 1000)
    os.write(1, b'{"id": 2, "samples": []}\\n' * 10000)
    sys.__stdout__.write("directly\\n")
    os.system("echo from a program")
    assert sys.stdin.read() == ""
    return [1.0] * len(completions)
`)
    expect((await totalsOf(configOf([{ function: file }]), [input('x')]))[0]).toMatchObject({
      total: 1,
      failures: [],
    })
  })

  const hostile = `
import os, sys, time

def f(completions):
    (text,) = completions
    if text == "die":
        print("about to die", file=sys.stderr, flush=True)
        os._exit(7)
    if text == "hang":
        while True:
            pass
    if text == "flood":
        while True:
            os.write(2, b"x" * 65536)
    if text == "forge":
        for fd in range(3, 20):
            try:
                os.write(fd, b"garbage\\n")
            except OSError:
                pass
    return [1.0]
`
  test.each([
    ['die', /Python exited \(exit code 7\)\. Its last output: about to die$/],
    ['hang', /Python was killed because it used up 0.5 s of processor time/],
    ['flood', /Python was killed because it (used up 0.5 s of processor time|did nothing for 5 s)/],
    ['forge', /wrote to the pipe/],
  ])('code that would %s fails its call, and the next one is answered', async (text, sentence) => {
    const config = configOf([{ function: fileOf(hostile) }], {}, { callSeconds: 0.5 })
    await using rewards = await resolveRewards(config, mkdtempSync(path.join(all, 'run-')), {
      consents: consentsTo(config, all),
    })
    const [bad] = await scoreRewards(rewards.specs, [input(text)], 'null')
    expect(bad?.failures[0]?.message).toMatch(sentence)
    const [good] = await scoreRewards(rewards.specs, [input('fine')], 'null')
    expect(good?.total).toBe(1)
    await expect(scoreRewards(rewards.specs, [input(text)], 'fail')).rejects.toMatchObject({
      code: 'reward/failed',
    })
  })
})

test.skipIf(!hasPython())(
  'what is allowed is what runs: no cache of other code beside it, nothing of the folder before the own modules of Python (skipped without Python 3.9)',
  async () => {
    const folder = mkdtempSync(path.join(all, 'cached-'))
    const own = path.join(folder, 'mine.py')
    const text =
      'import helper, json\n\ndef f(completions):\n    return [helper.points for _ in completions]\n'
    writeFileSync(own, text)
    const helper = path.join(folder, 'helper.py')
    // Compiled from other code than the source that is left, which looks the same to Python by its size and time.
    const poison = [
      'import os, py_compile, sys',
      'helper = sys.argv[1]',
      'open(helper, "w").write("points = 9")',
      'os.utime(helper, (1, 1)); py_compile.compile(helper)',
      'open(helper, "w").write("points = 3")',
      'os.utime(helper, (1, 1))',
    ].join('\n')
    execFileSync(interpreter, ['-c', poison, helper])
    expect(
      execFileSync(interpreter, ['-c', 'import helper; print(helper.points)'], {
        cwd: folder,
        encoding: 'utf8',
      }).trim(),
    ).toBe('9')
    writeFileSync(path.join(folder, 'queue.py'), 'raise SystemExit("not the queue of Python")')
    const mine = { code: text, language: 'py', file: own } as const
    const consents = consentsTo(configOf([{ function: own }]), all)
    await using python = await openPython(mine, {
      interpreter,
      callSeconds: 20,
      messages: null,
      form: null,
      consents,
    })
    const [scored] = await python.score([{ prompt: '', completion: '', row: {}, step: 0, settings: {} }], 'f')
    expect(scored).toMatchObject({ value: 3 })
  },
)

test('ids of Python code are told from those of built-ins', () => {
  expect(codeReference('a/b.py#Class')).toEqual({ file: 'a/b.py', language: 'py', name: 'Class' })
  expect(codeReference('gymnasium:FrozenLake-v1')).toEqual({
    file: 'gymnasium:FrozenLake-v1',
    language: 'py',
    name: null,
  })
  expect(codeReference('exact-match')).toBeNull()
})

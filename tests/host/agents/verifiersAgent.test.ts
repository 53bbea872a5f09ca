/** The example that plays environments of the package verifiers, against the real command and the real package. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import { eventually } from '../../eventually.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { hasPython, interpreter } from '../python/interpreter.ts'

const example = fileURLToPath(new URL('../../../examples/agents/verifiers_agent.py', import.meta.url))
const launcher = fileURLToPath(new URL('../../../bin/turnwise.mjs', import.meta.url))

/** One turn, or two: the second one asks again. The reward is that of the environment's own rubric. */
const environment = `
import verifiers as vf
from datasets import Dataset

class Twice(vf.MultiTurnEnv):
    async def env_response(self, messages, state, **kwargs):
        return [{"role": "user", "content": "Once more"}]

def spoke(completion, answer, **kwargs):
    return float(len([m for m in completion if m["role"] == "assistant"])) + float(answer)

def load_environment(max_turns=1):
    rows = Dataset.from_list([{"question": f"Say {i}", "answer": "0.5"} for i in range(4)])
    rubric = vf.Rubric(funcs=[spoke])
    made = {"dataset": rows, "rubric": rubric}
    return vf.SingleTurnEnv(**made) if max_turns == 1 else Twice(max_turns=max_turns, **made)
`

test.skipIf(!hasPython('verifiers', 'requests')).each([1, 2])(
  'an unchanged environment of %i turns is played, and its rubric is the reward (skipped without the package verifiers)',
  async (turns) => {
    const folder = temporaryFolder()
    writeFileSync(path.join(folder, 'twice.py'), environment)
    const env = { ...process.env, PYTHONPATH: folder }
    const given = JSON.stringify({ max_turns: turns })
    const rows = spawnSync(interpreter, [example, 'twice', 'rows', given], { env, encoding: 'utf8' })
    writeFileSync(path.join(folder, 'rows.jsonl'), rows.stdout)
    const config = {
      model: path.join(resourcesDirectory, 'starter'),
      steps: 1,
      seed: 1,
      data: { train: 'rows.jsonl', heldOut: null, prompt: { column: 'prompt' } },
      rollout: { agent: {}, promptsPerStep: 4, groupSize: 2, maxNewTokens: 4, minNewTokens: 4 },
    }
    writeFileSync(path.join(folder, 'run.json'), JSON.stringify(config))
    const words = ['collect', 'run.json', '--port', '0', '--data-dir', path.join(folder, 'home')]
    const run = spawn(process.execPath, [launcher, ...words], { cwd: folder })
    let heard = ''
    for (const stream of [run.stdout, run.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (heard += text))
    const form = /POST (http:\S+)\/sessions\. Key: (\S+)/
    await eventually(() => {
      expect(heard).toMatch(form)
    })
    const [, address = '', key = ''] = form.exec(heard) ?? []
    const agent = spawn(interpreter, [example, 'twice', address, given], {
      env: { ...env, TURNWISE_KEY: key },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    await Promise.all([once(agent, 'exit'), once(run, 'exit')])
    expect(agent.exitCode).toBe(0)
    expect(heard).toContain('Finished')
    expect(heard).toContain(`step 1/1  reward ${String(turns)}.500`)
  },
)

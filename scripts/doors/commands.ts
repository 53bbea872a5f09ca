/** The commands that the documents show, and what they need around them to be run as they stand there. */
import { spawn } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '../..')
const launcher = path.join(root, 'bin/turnwise.mjs')
const inRoot = (...names: readonly string[]): string => path.join(root, ...names)

/** Lists commands of the table and of the guide's examples, each once, without the program's name. */
export function shownCommands(): string[] {
  const commands = readFileSync(inRoot('docs/commands.md'), 'utf8')
  const guide = readdirSync(inRoot('docs/guide'))
    .toSorted()
    .map((name) => readFileSync(inRoot('docs/guide', name), 'utf8'))
    .join('\n')
  const table = [...commands.matchAll(/ `turnwise ([^`]+)` \|/g)].map(([, command = '']) => command)
  const blocks = [...guide.matchAll(/```sh\n(.*?)```/gs)].flatMap(([, block = '']) => block.split('\n'))
  const examples = blocks.flatMap((line) => {
    const command = /^\s*turnwise (.+?)(?:\s+#.*)?$/.exec(line)?.[1]
    return command === undefined ? [] : [command]
  })
  return [...new Set([...table, ...examples])].filter((command) => !command.includes('COMMAND'))
}

/** Why a command is not run here; null: it is. */
export function unreachable(command: string): string | null {
  if (/^(model (import [\w.-]+\/[\w.-]+ |import owner\/|search)|export .* --push )/.test(`${command} `))
    return 'asks a hub'
  if (/^collect/.test(command)) return 'waits for an agent'
  if (/^device install/.test(command)) return 'downloads 1.33 GB'
  if (/^device check webgpu/.test(command)) return 'needs a GPU'
  if (/\.venv|reasoning-gym|count-bits|tasks\.py/.test(command)) return 'needs packages of Python'
  if (/gsm8k/.test(command)) return 'needs a data set that is not shipped'
  if (/judge/i.test(command)) return 'needs a model that can judge'
  if (/^dataset labels/.test(command)) return 'needs labels given in the window'
  return null
}

export interface Finished {
  readonly status: number | null
  readonly output: string
}

/** A folder with the files, models and runs that the examples name. */
export class Workplace {
  readonly folder: string
  #run = ''
  readonly #evaluations: string[] = []

  constructor(folder: string) {
    this.folder = folder
  }

  /** Trains a run, exports its adapter, evaluates twice and writes the files that the examples name. */
  async prepare(say: (text: string) => void): Promise<void> {
    cpSync(inRoot('resources/demo'), this.#at('resources/demo'), { recursive: true })
    cpSync(inRoot('examples'), this.#at('examples'), { recursive: true })
    this.#writeFiles()
    for (const name of ['my-model', 'smollm2', 'my-teacher'].map((each) => this.#newName(each)))
      await this.#must(say, `model import ${inRoot('resources/starter')} --name ${name}`)
    mkdirSync(this.#at('models'), { recursive: true })
    await this.#must(say, `dataset import sums.jsonl --name demo-tasks`)
    const studied = await this.#must(say, 'sweep short-sweep.yaml')
    this.#study = /st_[0-9a-f-]+/.exec(studied.output)?.[0] ?? ''
    const trained = await this.#must(say, 'train my-run.json')
    this.#run = /run_[0-9a-f-]+/.exec(trained.output)?.[0] ?? ''
    for (const step of ['base', 'last']) {
      const { output } = await this.#must(say, `evaluate --run ${this.#run} --step ${step} --json`)
      this.#evaluations.push(/ev_[0-9a-f-]+/.exec(output)?.[0] ?? '')
    }
    await this.#must(say, `export ${this.#run} --format peft --out exported`)
    cpSync(this.#at('exported'), this.#at('my-adapter'), { recursive: true })
  }

  /** A command as it is shown, with real names in the place of those that it makes up. */
  filledIn(command: string): string {
    const [base = '', trained = ''] = this.#evaluations
    const directory = this.#at('home/runs', this.#run)
    return (
      command
        .replaceAll('~/models/my-model', inRoot('resources/starter'))
        .replace(/RUN\/checkpoints\/step-\d+/, `${directory}/checkpoints/step-000020`)
        .replace(/\b(run_01a1f8|RUN)\b/g, this.#run)
        .replace(/\brun_01a1f9\b/, this.#run)
        .replace(/\b(ev_01a1f8|BASE)\b/, base)
        .replace(/\b(ev_01a1f9|TRAINED)\b/, trained)
        .replace(/--out (\S+)/, (_, out: string) => `--out ${this.#unused(out)}`)
        .replace(/--name (\S+)/, (_, name: string) => `--name ${this.#newName(name)}`)
        .replace(/\bst_01a1f8\b/, this.#study)
        .replace(/^train run\.json/, 'train config.json') // run.json is what runs export wrote
        // What was exported is still there; a copy of it is not.
        .replace(/^runs import .*/, '$& --data-dir other-home')
        .replace(/^app$/, 'app --browser')
    )
  }

  #count = 0
  #study = ''
  readonly #names = new Set<string>()

  /** A name is given once. */
  #newName(name: string): string {
    const free = this.#names.has(name) ? `${name}-${String(++this.#count)}` : name
    this.#names.add(free)
    return free
  }

  /** A folder or file that does not exist yet. */
  #unused(out: string): string {
    return existsSync(this.#at(out)) ? out.replace(/(\.\w+)?$/, `-${String(++this.#count)}$1`) : out
  }

  /** Runs to the end; servers are ended once they have said where they are. */
  run(command: string): Promise<Finished> {
    const child = spawn(process.execPath, [launcher, ...wordsOf(command)], {
      cwd: this.folder,
      env: { ...process.env, TURNWISE_HOME: this.#at('home'), BROWSER: 'true' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const isServer = /^(serve|app)\b/.test(command)
    let output = ''
    const hear = (chunk: Buffer) => {
      output += chunk.toString('utf8')
      if (isServer && output.includes('http://')) setTimeout(() => child.kill('SIGINT'), 1000)
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    return new Promise((resolve) => child.once('close', (status) => resolve({ status, output })))
  }

  async #must(say: (text: string) => void, command: string): Promise<Finished> {
    const finished = await this.run(command)
    if (finished.status !== 0) say(`Preparing failed: turnwise ${command}\n${finished.output}`)
    return finished
  }

  #at(...names: readonly string[]): string {
    return path.join(this.folder, ...names)
  }

  #writeFiles(): void {
    const readme = readFileSync(inRoot('README.md'), 'utf8')
    const [, config = '{}'] = /```json\n(\{\n {2}"model".*?)```/s.exec(readme) ?? []
    const sums = Array.from(
      { length: 24 },
      (_, i) => [`What is ${String(i)} plus 3?`, String(i + 3)] as const,
    )
    const jsonl = sums.map(([prompt, answer]) =>
      JSON.stringify({ prompt, question: prompt, answer, task: 'add' }),
    )
    const write = (name: string, text: string) => {
      writeFileSync(this.#at(name), text)
    }
    for (const name of ['my-run.json', 'config.json']) write(name, config)
    const rate = '"optimization.learningRate": { "min": 0.0001, "max": 0.001 }'
    const sweep = `"sweep": { "method": "grid", "points": 2, "parameters": { ${rate} } }`
    write('my-sweep.yaml', config.trimEnd().replace(/\}$/, `, ${sweep} }`))
    write('short-sweep.yaml', config.trimEnd().replace(/"steps": 20\s*\}$/, `"steps": 2, ${sweep} }`))
    write('sums.csv', ['prompt,answer', ...sums.map((cells) => cells.join(','))].join('\n'))
    for (const name of ['sums.jsonl', 'rows.jsonl', 'test.jsonl']) write(name, jsonl.join('\n'))
    copyFileSync(inRoot('tests/fixtures/data/python/snappy.parquet'), this.#at('sums.parquet'))
    write('question.json', '[{ "role": "user", "content": "What is 2 plus 3?" }]')
    write(
      'rewards.py',
      'def correct(completions, answer, **kwargs):\n    return [0.0 for _ in completions]\n',
    )
    write(
      'grpo.yaml',
      'model_name_or_path: starter\ndataset_name: sums.jsonl\nlearning_rate: 1.0e-5\nnum_generations: 8\nmax_completion_length: 64\nbeta: 0.04\nloss_type: grpo\n',
    )
    const ids = [5, 6, 7, 8]
    write('sequences.json', JSON.stringify({ sequences: [ids] }))
    write('learn.json', JSON.stringify({ sequences: [ids], coefficients: [[0, -0.5, -0.5]] }))
    copyFileSync(inRoot('resources/losses/grpo.ts'), this.#at('my-loss.ts'))
    copyFileSync(inRoot('resources/workflows/tree.ts'), this.#at('my-workflow.ts'))
  }
}

/** The words of a command line, as a shell splits them. */
const wordsOf = (command: string): string[] =>
  [...command.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c ?? '')

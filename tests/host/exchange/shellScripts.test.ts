/** Scripts around a command: what they set is filled in, what they do not set is told. */
import { describe, expect, test } from 'vitest'
import { importConfig } from '#host/exchange/importConfig.ts'

const read = (text: string) => importConfig(text, null, { home: '/home/me' })
const textsOf = ({ notes }: ReturnType<typeof read>) => notes.map(({ text }) => text).join('\n')

describe('scripts around a command', () => {
  const script = (before: string, flags: string) =>
    `#!/usr/bin/env bash\n${before}\naccelerate launch --num_processes $gpus trl/scripts/grpo.py \\\n  --num_generations 4 \\\n  # a remark\n  ${flags} $@ > log.txt 2>&1\n`

  test('names that the script sets are filled in', () => {
    const outcome = read(
      script(
        'gpus=2\nexport MODEL=${MODEL:-org/m}\nBATCH=16\nLENGTH="10${ZERO:-24}"\nDATA=(\n --dataset_name "$HOME/a b.parquet" # the rows\n --per_device_train_batch_size $BATCH\n)\nDATA+=(--max_completion_length=$LENGTH)\ncat <<END\n$MODEL=other\nEND',
        '"${DATA[@]}" --model_name_or_path "$MODEL" --run_name \'a b\'"-${BATCH}" --learning_rate=1e-5',
      ),
    )
    expect(outcome.config).toMatchObject({
      name: 'a b-16',
      model: 'org/m',
      data: { train: '/home/me/a b.parquet' },
      optimization: { learningRate: 1e-5 },
      rollout: { promptsPerStep: 8, groupSize: 4, maxNewTokens: 1024 },
    })
    expect(textsOf(outcome)).toContain('the home folder in it is that of this machine')
  })

  test('what is not set is told and never kept', () => {
    const outcome = read(
      script(
        '',
        '--model_name_or_path=$MODEL_PATH --dataset_name $(ls x) --max_steps $((2 * 3)) --seed "$1"',
      ),
    )
    expect(JSON.stringify(outcome.config)).not.toContain('$')
    for (const said of [
      'model_name_or_path is not known: $MODEL_PATH is not set in the file.',
      'dataset_name is not known: only running the script would tell $(ls x)',
      'max_steps is not known: only running the script would tell $((2 * 3))',
      'seed is not known: $1 is not set in the file.',
      'The file does not tell which model it uses: choose one.',
    ])
      expect(textsOf(outcome)).toContain(said)
  })

  test('a value under a condition is told', () => {
    const under = read(
      script('if [ "$1" = x ]; then\n rate=1e-5\nelse\n rate=2e-5\nfi', '--learning_rate $rate'),
    )
    expect(under.config.optimization.learningRate).toBe(1e-5)
    expect(textsOf(under)).toContain('rate is set conditionally; the value of the first branch was taken')
  })

  test('a command inside of quotes inside of quotes is one unknown', () => {
    const outcome = read(script('HERE="$(cd "$(dirname "$0")" && pwd)"', '--dataset_name "$HERE/rows.jsonl"'))
    expect(textsOf(outcome)).toContain('only running the script would tell $(cd "$(dirname "$0")" && pwd)')
  })

  test.each([
    'X="$X$X"',
    'X=aaaa\n'.concat('X="$X$X$X$X"\n'.repeat(40)),
    'A=(a b)\n'.concat('A+=("${A[@]}" "${A[@]}")\n'.repeat(40)),
    '"$('.repeat(5000),
    '${'.repeat(50_000),
    '<<A\n'.repeat(50_000),
  ])('what grows or nests without end ends (%#)', (before) => {
    try {
      read(script(`${before}\n`.repeat(3), 'a.b=c'))
    } catch (error) {
      expect(error).toHaveProperty('code', 'config/invalid')
    }
  })
})

/** Scripts around a command: what they set is filled in, what they do not set is told. */
import { describe, expect, test } from 'vitest'
import { importConfig } from '#host/exchange/importConfig.ts'

const read = (text: string) => importConfig(text, null, { home: '/home/me' })
const textsOf = ({ notes }: ReturnType<typeof read>) => notes.map(({ text }) => text).join('\n')

describe('scripts of verl', () => {
  const script = (before: string, words: string) =>
    `#!/usr/bin/env bash\n${before}\npython3 -m verl.trainer.main_ppo \\\n  algorithm.adv_estimator=$adv \\\n  # a remark\n  ${words} $@\n`

  test('names that the script sets are filled in', () => {
    const { config, notes } = read(
      script(
        "adv=grpo\nexport MODEL=${MODEL:-org/m}\nn=$((2 * (1 + 1)))\nLENGTH=$((1024 * n))\nDATA=(\n data.train_files=\"['$HOME/a.parquet', 'b']\"\n data.train_batch_size=64\n)\nDATA+=(data.max_response_length=$LENGTH)",
        '"${DATA[@]}" actor_rollout_ref.model.path="$MODEL" actor_rollout_ref.rollout.n=${n} actor_rollout_ref.actor.ppo_mini_batch_size=32',
      ),
    )
    expect(config).toMatchObject({
      model: 'org/m',
      data: { train: '/home/me/a.parquet' },
      algorithm: { id: 'grpo' },
      rollout: { promptsPerStep: 64, groupSize: 4, maxNewTokens: 4096 },
      optimization: { minibatchSize: 128 },
    })
    expect(notes.map(({ text }) => text).join('\n')).toContain(
      'the home folder in it is that of this machine',
    )
  })

  test('what is not set is told and never kept', () => {
    const outcome = read(
      script(
        'adv=grpo',
        'actor_rollout_ref.model.path=$MODEL_PATH data.train_files=$(ls x) trainer.total_epochs=2',
      ),
    )
    expect(JSON.stringify(outcome.config)).not.toContain('$')
    expect(textsOf(outcome)).toContain(
      'actor_rollout_ref.model.path is not known: $MODEL_PATH is not set in the file.',
    )
    expect(textsOf(outcome)).toContain('only running the script would tell $(ls x)')
    expect(textsOf(outcome)).toContain('The file does not name a model: choose one.')
  })

  test('a value under a condition is told, and an unknown estimator is asked about', () => {
    const under = read(
      script('if [ "$1" = x ]; then\n adv=rloo\nelse\n adv=grpo\nfi', 'actor_rollout_ref.rollout.n=4'),
    )
    expect(under.config.algorithm.id).toBe('rloo')
    expect(textsOf(under)).toContain('adv is set conditionally; the value of the first branch was taken')
    expect(() => read(script('', 'actor_rollout_ref.rollout.n=4'))).toThrow(
      'the value of algorithm.adv_estimator is not in it',
    )
  })

  test.each([
    'X="$X$X"',
    'A=(a b)\n'.concat('A+=("${A[@]}" "${A[@]}")\n'.repeat(40)),
    '"$('.repeat(5000),
    '<<A\n'.repeat(50_000),
  ])('what grows or nests without end ends (%#)', (before) => {
    try {
      read(script(`${before}\n`.repeat(3), 'a.b=c'))
    } catch (error) {
      expect(error).toHaveProperty('code', 'config/invalid')
    }
  })
})

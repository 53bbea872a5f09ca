/** Python files whose settings stand in dicts that are spread, or under conditions. */
import { describe, expect, test } from 'vitest'
import { importConfig, type ImportedConfig } from '#host/exchange/importConfig.ts'

const read = (lines: readonly string[]): ImportedConfig =>
  importConfig(`from trl import GRPOConfig, GRPOTrainer\n${lines.join('\n')}\n`, null, { home: '/home/me' })

const textsOf = ({ notes }: ImportedConfig): string => notes.map(({ text }) => text).join('\n')

describe('a dict that is spread into a call', () => {
  test.each([
    ['made with dict(…)', 'cfg = dict(learning_rate=3e-6, num_generations=2 * 3, max_steps=250)'],
    ['with braces', 'cfg = {"learning_rate": 3e-6, "num_generations": 6, "max_steps": 250}'],
    [
      'within another',
      'base = {"max_steps": 250}\ncfg = dict(**base, learning_rate=3e-6, num_generations=6)',
    ],
  ])('%s gives its settings', (_, cfg) => {
    const outcome = read([cfg, 'args = GRPOConfig(**cfg, beta=0.04)', 'GRPOTrainer(model="a/b", args=args)'])
    expect(outcome.config).toMatchObject({
      steps: 250,
      optimization: { learningRate: 3e-6 },
      rollout: { groupSize: 6 },
      algorithm: { settings: { klCoefficient: 0.04 } },
    })
    expect(textsOf(outcome)).not.toMatch(/cfg|no known value/)
  })

  test.each([
    ['comes from a file', 'cfg = json.load(open("cfg.json"))', '**cfg'],
    ['is changed later', 'cfg = {"max_steps": 250}\ncfg["max_steps"] = 5', '**cfg'],
    ['comes from a function', '', '**options()'],
  ])('one that %s is named, and nothing is said not to be set', (_, cfg, spread) => {
    const outcome = read([
      cfg,
      `args = GRPOConfig(${spread}, beta=0.04)`,
      'GRPOTrainer(model="a/b", args=args)',
    ])
    expect(outcome.config.steps).toBeNull()
    expect(textsOf(outcome)).toContain(`${spread} in GRPOConfig(…) was skipped`)
    expect(textsOf(outcome)).toContain('the file has no known value of weight_decay')
    expect(textsOf(outcome)).not.toContain('does not set')
  })
})

describe('what is set under a condition', () => {
  test('is named, and does not win over what is set without one', () => {
    const outcome = read([
      'args = GRPOConfig(num_generations=4, beta=0.04)',
      'args.learning_rate = 1e-5',
      'if False:',
      '    args.beta = 0.5',
      'else:',
      '    args.max_steps = 7',
      'args.temperature = 0.7',
      'GRPOTrainer(model="a/b", args=args)',
    ])
    expect(outcome.config).toMatchObject({
      steps: null,
      optimization: { learningRate: 1e-5 },
      rollout: { temperature: 0.7 },
      algorithm: { settings: { klCoefficient: 0.04 } },
    })
    expect(textsOf(outcome)).toContain('args.beta (0.5) was skipped: it is set under a condition')
    expect(textsOf(outcome)).toContain('args.max_steps (7) was skipped: it is set under a condition')
  })

  test('leaves a name without a value that is known', () => {
    const outcome = read([
      'lr = 1e-6',
      'if torch.cuda.is_available(): lr = 1e-4',
      'GRPOTrainer(model="a/b", args=GRPOConfig(num_generations=4, learning_rate=lr))',
    ])
    expect(textsOf(outcome)).toContain(
      'learning_rate was skipped: only running the file would tell its value',
    )
  })

  test('is set all the same where the file is what is started', () => {
    const { config } = read([
      'if __name__ == "__main__":',
      '    lr = 1e-4',
      '    GRPOTrainer(model="a/b", args=GRPOConfig(num_generations=4, learning_rate=lr))',
    ])
    expect(config.optimization.learningRate).toBe(1e-4)
  })
})

test('names of an earlier RLOOConfig are refused', () => {
  expect(() =>
    read(['RLOOConfig(rloo_k=4, kl_coef=0.05, response_length=53)', 'RLOOTrainer(model="a/b")']),
  ).toThrow('The file is for an earlier RLOOConfig of TRL')
})

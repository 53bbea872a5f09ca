import { describe, expect, test } from 'vitest'
import { projectName, startLines } from '#renderer/features/run/ContinueElsewhere.tsx'

describe('a run for another tool', () => {
  test('has a folder named after the run, the checkpoint and the tool', () => {
    expect(projectName('arith GRPO / 3', 40, 'trl')).toBe('arith-GRPO-3-step-40-trl')
    expect(projectName('arith-3', null, 'agilerl')).toBe('arith-3-agilerl')
    expect(projectName('计算', null, 'trl')).toBe('计算-trl')
    expect(projectName('…', null, 'trl')).toBe('run-trl')
  })

  test('is started in the folder of the tool', () => {
    expect(startLines({ directory: '/data/exports/a-trl', tool: 'trl' })).toEqual([
      'cd /data/exports/a-trl/trl',
      'pip install -r requirements.txt',
      'accelerate launch --config_file accelerate.yaml train.py',
    ])
    expect(startLines({ directory: 'C:\\My runs\\a', tool: 'agilerl' })).toEqual([
      'cd "C:\\My runs\\a\\agilerl"',
      'pip install -r requirements.txt',
      'python train.py',
    ])
  })
})

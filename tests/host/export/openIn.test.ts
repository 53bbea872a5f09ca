import { expect, test } from 'vitest'
import { openIn } from '#host/export/openIn.ts'

test('an adapter opens with the libraries its format is of, from where it lies', () => {
  const [peft, vllm] = openIn({ format: 'peft', directory: '/out/sums', baseModel: null })
  expect(peft?.tool).toBe('transformers')
  expect(peft?.command).toContain('PeftModel.from_pretrained(base, "/out/sums")')
  expect(vllm?.command).toContain('--lora-modules sums=/out/sums')
  const known = openIn({ format: 'peft', directory: '/out/sums', baseModel: 'Qwen/Qwen2.5-0.5B' })
  expect(known[0]?.command).toContain('AutoPeftModelForCausalLM.from_pretrained("/out/sums")')
  // The README of the folder has the code already.
  expect(openIn({ format: 'peft', directory: '.', baseModel: null }).map(({ tool }) => tool)).toEqual([
    'vLLM',
  ])
})

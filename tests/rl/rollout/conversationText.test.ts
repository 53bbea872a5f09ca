import path from 'node:path'
import { expect, test } from 'vitest'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import { encodeQuestion } from '#host/models/completing.ts'
import { loadTokenizer } from '#host/models/tokenizerFolder.ts'
import { encodePrompt } from '#rl/rollout/prompts.ts'
import { createTurnText } from '#rl/rollout/turnText.ts'
import { messagePrompt } from '#rl/rollout/workflowTools.ts'

const text = loadTokenizer(path.join(resourcesDirectory, 'starter'))
const asked = { role: 'user', content: 'Sort: 3 1 2' }
const reading = (content: string) => {
  const messages = [asked, { role: 'assistant', content }]
  const options = { ...text, applyChatTemplate: true, strictBoundary: true }
  const ids = [
    encodePrompt({ messages }, 0, { form: { column: 'messages' }, ...text }).ids,
    encodeQuestion({ messages }, text),
    messagePrompt(messages, text).ids,
    createTurnText(options).opening(messages).ids,
  ]
  return ids.map((each) => text.tokenizer.decode(each, { skipSpecialTokens: false }))
}

test('runs, commands, workflows and environments continue an answer that has begun', () => {
  for (const prompt of reading('1 2')) expect(prompt).toMatch(/1 2$/)
})

test('an empty answer is one that has not begun', () => {
  const opened = text.chatTemplate!.render([asked], { addGenerationPrompt: true })
  for (const prompt of reading('')) expect(prompt).toBe(opened)
})

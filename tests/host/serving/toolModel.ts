/** The starter with a chat template that has tools, and rows that teach it to call them. */
import { cpSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { resourcesDirectory } from '#host/dataDirectory.ts'

/** Calls are written in Python's notation, which takes few tokens of the starter. */
const template = `{#- Models answer [func_name1(params_name1=params_value1)] -#}
{%- if tools %}{{ '<|system|>' }}{% for tool in tools %}{{ tool.function.name + ';' }}{% endfor %}{{ '<|end|>' }}{% endif -%}
{%- for message in messages %}{{ '<|' + message.role + '|>' + message.content }}
{%- for call in message.tool_calls or [] %}{{ '[' + call.function.name + '(' }}
{%- for name, value in call.function.arguments.items() %}{{ name + '=' + value | tojson + (', ' if not loop.last else '') }}{% endfor %}{{ ')]' }}{% endfor %}
{{- '<|end|>' }}{% endfor -%}
{%- if add_generation_prompt %}{{ '<|assistant|>' }}{% endif -%}`

export const addTool = {
  type: 'function' as const,
  function: {
    name: 'add',
    description: 'Adds two numbers.',
    parameters: { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'integer' } } },
  },
}

/** Writes the model into a folder and returns its path. */
export function toolModel(directory: string): string {
  const folder = path.join(directory, 'caller')
  cpSync(path.join(resourcesDirectory, 'starter'), folder, { recursive: true })
  writeFileSync(path.join(folder, 'chat_template.jinja'), template)
  return folder
}

export const question = { role: 'user', content: 'Add 2 and 3' } as const
const call = { id: 'call12345', type: 'function', function: { name: 'add', arguments: '{"a": 2, "b": 3}' } }
const result = { role: 'tool', tool_call_id: 'call12345', content: '5' }

/** A question, then the call that answers it; with the call's result, then words. */
export const lessons = [
  {
    prompt: [question],
    tools: [addTool],
    completion: [{ role: 'assistant', content: '', tool_calls: [call] }],
  },
  {
    prompt: [question, { role: 'assistant', content: '', tool_calls: [call] }, result],
    tools: [addTool],
    completion: 'It is 5',
  },
]

import { ChevronDown, ChevronRight } from 'lucide-react'
import { useState } from 'react'
import { Button } from '#renderer/kit/Button.tsx'
import { Select } from '#renderer/kit/choices.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { TextInput } from '#renderer/kit/inputs.tsx'
import { valueAt, type JsonObject } from '#shared/config/paths.ts'
import type { Problem } from '#shared/errors.ts'
import { problemsAt, wrongWords } from './problems.ts'
import { Variables } from '#renderer/kit/Variables.tsx'
import { templateInputOf } from '#renderer/client/templateVariables.ts'

interface TemplateFieldsProps {
  readonly config: JsonObject
  /** Of the rows; empty where they are not known. */
  readonly columns: readonly string[]
  readonly problems: readonly Problem[]
  readonly onSet: (key: string, value: unknown) => void
}

const toolsHelp =
  'The column that describes the functions a model may call, as a list of JSON schemas or its text; the chat template writes them into the prompt.'
const switchesHelp = 'What the chat template reads by name, such as enable_thinking: no.'

/** What the chat template is given beside the messages: folded while that is nothing. */
export function TemplateFields(props: TemplateFieldsProps) {
  const { config, problems } = props
  const [asked, setAsked] = useState<boolean | null>(null)
  const hasOwn = Object.keys(templateInputOf(config)).length > 0
  const isWrong = ['data.tools', 'data.templateVariables'].some((key) => problemsAt(problems, key).length > 0)
  const isShown = asked ?? (hasOwn || isWrong)
  const Chevron = isShown ? ChevronDown : ChevronRight
  return (
    <div>
      <Button
        small
        variant="quiet"
        className="-ml-2"
        aria-expanded={isShown}
        icon={<Chevron size={13} aria-hidden />}
        onClick={() => setAsked(!isShown)}
      >
        Tools and template variables
        {hasOwn && <span className="text-faint">set</span>}
      </Button>
      {isShown && <Fields {...props} />}
    </div>
  )
}

function Fields({ config, columns, problems, onSet }: TemplateFieldsProps) {
  const tools = valueAt(config, 'data.tools')
  const column = typeof tools === 'string' ? tools : ''
  const setColumn = (next: string) => onSet('data.tools', next === '' ? undefined : next)
  return (
    <div className="flex flex-wrap items-start gap-x-6 gap-y-2">
      <Field
        label="Tools: column"
        help={toolsHelp}
        error={wrongWords(problemsAt(problems, 'data.tools'))}
        className="w-56"
      >
        {(ids) =>
          columns.length === 0 ? (
            <TextInput {...ids} mono value={column} placeholder="none" onChange={setColumn} />
          ) : (
            <Select
              {...ids}
              value={column}
              options={[
                { value: '', label: 'None' },
                ...[...new Set([...(column === '' ? [] : [column]), ...columns])].map((name) => ({
                  value: name,
                  label: name,
                })),
              ]}
              onChange={setColumn}
            />
          )
        }
      </Field>
      <Field
        label="Template variables"
        help={switchesHelp}
        error={wrongWords(problemsAt(problems, 'data.templateVariables'))}
        className="w-96"
      >
        {() => (
          <Variables
            label="Template variables"
            value={valueAt(config, 'data.templateVariables')}
            onChange={(value) => onSet('data.templateVariables', value)}
          />
        )}
      </Field>
    </div>
  )
}

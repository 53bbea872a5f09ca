import { ArrowRight, Check } from 'lucide-react'
import type { ReactNode } from 'react'
import { useAnswer, type Answer } from '#renderer/client/api.tsx'
import { useAddFile } from '#renderer/client/adding.ts'
import { formatBytes } from '#renderer/client/format.ts'
import { keeperOf, modelFacts } from '#renderer/client/modelChoice.ts'
import { navigate } from '#renderer/client/route.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { Panel } from '#renderer/kit/Page.tsx'

/** Leads from the sample to a run of one's own: data, a reward, a real model. */
export function NextSteps() {
  const { chooseAndAdd } = useAddFile()
  const { data: dataSets = [] } = useAnswer('datasets.list', undefined)
  const { data: rewards = [] } = useAnswer('rewards.list', {})
  return (
    <Panel title="Next: a run of your own" isFlush>
      <ol className="divide-y divide-line">
        <Step
          title="Your own data"
          words="A table or lines of JSON: a column with prompts and, for most rewards, one with the answer."
          isDone={dataSets.length > 0}
          action={<Button onClick={chooseAndAdd}>Choose a file</Button>}
        />
        <Step
          title="Your own reward"
          words="A few lines that score an answer, tried on your rows before anything is trained."
          isDone={rewards.some(({ kind }) => kind === 'reward')}
          action={<Button onClick={() => navigate('/rewards')}>Write a reward</Button>}
        />
        <RealModel />
      </ol>
    </Panel>
  )
}

interface StepProps {
  readonly title: string
  readonly words: ReactNode
  readonly isDone: boolean
  readonly action: ReactNode
}

const Step = ({ title, words, isDone, action }: StepProps) => (
  <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2.5">
    <span className="flex size-4 shrink-0 items-center justify-center text-good">
      {isDone ? (
        <Check size={15} aria-label="Done" />
      ) : (
        <ArrowRight size={14} aria-hidden className="text-faint" />
      )}
    </span>
    <span className="min-w-50 grow basis-0">
      <span className="block font-medium">{title}</span>
      <span className="block text-sm text-muted text-pretty">{words}</span>
    </span>
    {action}
  </li>
)

/** Offers a model that is on this machine, else one recommended download. */
function RealModel() {
  const { data: models } = useAnswer('models.list', undefined)
  const { data: known } = useAnswer('hub.known', undefined)
  const here = models?.flatMap((model) => ('problem' in model || model.name === 'starter' ? [] : [model]))
  const found = here?.toSorted((a, b) => a.parameters - b.parameters).find(({ fits }) => fits !== null)
  // A chat model of open terms: others need an account, or answer no messages.
  const offered = known
    ?.toSorted((a, b) => a.parameters - b.parameters)
    .find(({ id, fits, isGated }) => fits !== null && !isGated && /instruct|chat|-it$/i.test(id))
  if (found !== undefined) {
    const keeper = keeperOf(found)
    return (
      <Step
        title="A real model"
        words={`${found.name} is on this machine${keeper === 'Models' ? '' : ` (${keeper})`}: ${modelFacts(found)}.`}
        isDone={false}
        action={<Button onClick={() => navigate('/new-run', { model: found.name })}>Train it</Button>}
      />
    )
  }
  return (
    <Step
      title="A real model"
      words={
        offered === undefined
          ? 'A folder or a GGUF file, or one from a hub.'
          : `${offered.id}: ${formatBytes(offered.sizeBytes)} to download, ${formatBytes(offered.trainingBytes)} of memory to train${timeWords(offered)}. Any other folder or GGUF file will do, too.`
      }
      isDone={false}
      action={<Button onClick={() => navigate('/models/browse')}>Find a model</Button>}
    />
  )
}

/** Tokens of a first run: 30 steps of 16 completions, as of the sample. */
const firstRunTokens = 30 * 16 * 64

function timeWords({ speed }: Answer<'hub.known'>[number]): string {
  if (speed === null) return ''
  const seconds = firstRunTokens / speed.generating + (2 * firstRunTokens) / speed.learning
  return `, about ${String(Math.max(1, Math.round(seconds / 60)))} min for a first run here`
}

import type { PrecisionEffect } from '#shared/precision.ts'
import { useTask } from '#renderer/client/api.tsx'
import { formatBytes, formatNumber, formatPercent } from '#renderer/client/format.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { KeyValue, Panel } from '#renderer/kit/Panel.tsx'
import { ErrorNote } from '#renderer/kit/states.tsx'

/** What the settings base.precision int8 and int4 would do to this model: measured when asked for, then kept by the host. */
export function RoundingPanel({ model }: { model: string }) {
  const { start, cancel, items, state, error } = useTask('models.precision')
  const isRunning = state === 'running'
  return (
    <Panel
      title="Quantise base weights"
      actions={
        isRunning ? (
          <Button small onClick={cancel}>
            Cancel
          </Button>
        ) : (
          <Button small onClick={() => start({ model, precisions: ['int8', 'int4'] })}>
            Measure
          </Button>
        )
      }
    >
      <p className="mb-3 text-muted">
        A run can hold the frozen matrices in 8 or 4 bits. This measures what that does to the
        log-probabilities of a few texts, in nats per token.
      </p>
      {error !== null && <ErrorNote error={error} />}
      {isRunning && items.length === 0 && <p className="text-faint">Rounding and scoring</p>}
      <div className="grid gap-4 min-[640px]:grid-cols-2">
        {items.map((effect) => (
          <div key={effect.precision}>
            <h3 className="mb-1 font-medium">{effect.precision}</h3>
            <KeyValue entries={effectFacts(effect)} />
          </div>
        ))}
      </div>
    </Panel>
  )
}

/** The lines of one precision. */
export const effectFacts = (effect: PrecisionEffect): readonly (readonly [string, string])[] => [
  [
    'Matrices',
    `${formatBytes(effect.roundedBytes)} (${formatPercent(effect.roundedBytes / effect.exactBytes)} of f32)`,
  ],
  ['Mean difference', formatNumber(effect.mean, 2)],
  ['Largest', formatNumber(effect.largest, 2)],
  ['Texts less likely by', formatNumber(effect.loss, 2)],
  ['KL divergence', formatNumber(effect.divergence, 2)],
  ['Sampler and learner', formatNumber(effect.samplerGap, 2)],
]

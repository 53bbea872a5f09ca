import { RotateCcw } from 'lucide-react'
import { useState, useEffect, type ReactNode } from 'react'
import { keyTable, type KeyId } from '#shared/keyTable.ts'
import { keysOf, useKeyBindings, type Bindings, isSingle, keyWords, keyOf } from '#renderer/client/keys.ts'
import { Button, IconButton } from '#renderer/kit/Button.tsx'
import { Switch } from '#renderer/kit/choices.tsx'
import { Kbd } from '#renderer/kit/states.tsx'
import { useLatest } from '#renderer/client/api.tsx'
import { Section } from './Section.tsx'

/** Lists all shortcuts; pressing a key sets one. */
export function KeysSection() {
  const { bindings, setBindings, singles, setSingles } = useKeyBindings()
  const [waiting, setWaiting] = useState<KeyId | null>(null)
  useKeyCapture(waiting !== null, (capture) => {
    if (waiting !== null && capture.kind !== 'cancel')
      setBindings(rebound(bindings, waiting, capture.kind === 'key' ? [capture.key] : []))
    setWaiting(null)
  })
  const changed = Object.keys(bindings).length
  return (
    <>
      <Section title="Single letters">
        <div className="flex items-center gap-3">
          <Switch aria-label="Keys without Ctrl, Alt or ⌘" checked={singles} onChange={setSingles} />
          <p className="text-muted text-pretty">
            Keys such as J, K and [ act without holding another key. Turn them off if you use speech input or
            press keys by accident.
          </p>
        </div>
      </Section>
      {keyGroups.map((group, i) => (
        <Section
          key={group}
          title={group}
          actions={
            i === 0 && (
              <Button small disabled={changed === 0} onClick={() => setBindings({})}>
                Reset all
              </Button>
            )
          }
        >
          <KeyTable group={group}>
            {(id) => (
              <KeyRow
                key={id}
                id={id}
                bindings={bindings}
                areSinglesOn={singles}
                isWaiting={waiting === id}
                onChange={() => setWaiting(waiting === id ? null : id)}
                onReset={() => setBindings(rebound(bindings, id, null))}
              />
            )}
          </KeyTable>
        </Section>
      ))}
    </>
  )
}

interface KeyTableProps {
  readonly group: (typeof keyGroups)[number]
  readonly children: (id: KeyId) => ReactNode
}

const KeyTable = ({ group, children }: KeyTableProps) => (
  <table className="w-full">
    <caption className="sr-only">{group}</caption>
    <thead className="sr-only">
      <tr>
        <th>What it does</th>
        <th>Keys</th>
        <th>Change</th>
      </tr>
    </thead>
    <tbody>{keyIds.filter((id) => keyTable[id].group === group).map(children)}</tbody>
  </table>
)

interface KeyRowProps {
  readonly id: KeyId
  readonly bindings: Bindings
  readonly areSinglesOn: boolean
  readonly isWaiting: boolean
  readonly onChange: () => void
  readonly onReset: () => void
}

const waitingNote = (
  <span role="status" className="text-sm text-accent-ink">
    Press the new keys
    <span className="block text-xs text-faint">Esc keeps it, Delete takes it away</span>
  </span>
)

const BoundKeys = ({ keys }: { readonly keys: readonly string[] }) => (
  <span className="flex flex-wrap gap-1">
    {keys.length === 0 && <span className="text-faint">none</span>}
    {keys.map((key) => (
      <Kbd key={key}>{keyWords(key)}</Kbd>
    ))}
  </span>
)

function KeyRow({ id, bindings, areSinglesOn, isWaiting, onChange, onReset }: KeyRowProps) {
  const { label } = keyTable[id]
  const keys = keysOf(id, bindings)
  const conflicts = conflictsOf(id, bindings)
  const isOff = !areSinglesOn && keys.length > 0 && keys.every(isSingle)
  return (
    <tr className="border-b border-line last:border-b-0">
      <td className="py-1 pr-3">
        {label}
        {conflicts.length > 0 && (
          <span className="block text-sm text-caution">
            Also: {conflicts.join(', ')}. The first in this list wins.
          </span>
        )}
        {isOff && <span className="block text-sm text-faint">Off with the single letters</span>}
      </td>
      <td className="w-52 py-1">{isWaiting ? waitingNote : <BoundKeys keys={keys} />}</td>
      <td className="w-28 py-1">
        <span className="flex items-center justify-end gap-1">
          {bindings[id] !== undefined && (
            <IconButton
              small
              label={`Reset the keys of ${label}`}
              icon={RotateCcw}
              iconSize={12}
              onClick={onReset}
            />
          )}
          <Button
            small
            aria-label={`Change the keys of ${label}`}
            aria-pressed={isWaiting}
            onClick={onChange}
          >
            {isWaiting ? 'Cancel' : 'Change'}
          </Button>
        </span>
      </td>
    </tr>
  )
}

/** Captures the next key press before any shortcut handles it. */
function useKeyCapture(
  isOn: boolean,
  onCapture: (capture: Exclude<Capture, { kind: 'wait' }>) => void,
): void {
  const latest = useLatest(onCapture)
  useEffect(() => {
    if (!isOn) return
    const listen = (event: KeyboardEvent) => {
      event.preventDefault()
      event.stopImmediatePropagation()
      const capture = captured(event)
      if (capture.kind !== 'wait') latest.current(capture)
    }
    addEventListener('keydown', listen, { capture: true })
    return () => removeEventListener('keydown', listen, { capture: true })
  }, [isOn, latest])
}

// Custom shortcuts and their conflicts.

export const keyIds = Object.keys(keyTable) as KeyId[]
const keyGroups = [...new Set(keyIds.map((id) => keyTable[id].group))]

const boundKeys = (id: KeyId, bindings: Bindings): readonly string[] => bindings[id] ?? keyTable[id].keys

/** Labels other actions that share one of its keys. */
export function conflictsOf(id: KeyId, bindings: Bindings): string[] {
  const own = boundKeys(id, bindings)
  return keyIds
    .filter((other) => other !== id && boundKeys(other, bindings).some((key) => own.includes(key)))
    .map((other) => keyTable[other].label)
}

/** Rebinds an action; the default binding is not stored. */
export function rebound(bindings: Bindings, id: KeyId, keys: readonly string[] | null): Bindings {
  const { [id]: _, ...others } = bindings
  const defaultKeys = keyTable[id].keys
  const isUsual =
    keys === null || (keys.length === defaultKeys.length && keys.every((key, i) => key === defaultKeys[i]))
  return isUsual ? others : { ...others, [id]: keys }
}

type Capture =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'cancel' }
  | { readonly kind: 'remove' }
  /** Modifier alone: the key is still to come. */
  | { readonly kind: 'wait' }

/** Interprets a key press while a shortcut is being set. */
export function captured(
  event: Pick<KeyboardEvent, 'code' | 'key' | 'metaKey' | 'ctrlKey' | 'altKey' | 'shiftKey'>,
): Capture {
  if (/^(?:Control|Shift|Alt|Meta|OS)/.test(event.code)) return { kind: 'wait' }
  if (event.code === 'Escape') return { kind: 'cancel' }
  if (event.code === 'Delete' || event.code === 'Backspace') return { kind: 'remove' }
  return { kind: 'key', key: keyOf(event as KeyboardEvent) }
}

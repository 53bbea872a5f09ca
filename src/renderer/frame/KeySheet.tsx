import { useKeyBindings, keysOf } from '#renderer/client/keys.ts'
import { useWindow } from '#renderer/client/window.ts'
import { keyTable, type KeyId } from '#shared/keyTable.ts'
import { keyWords } from '#renderer/client/keyWords.ts'
import { Dialog } from '#renderer/kit/Dialog.tsx'
import { Kbd } from '#renderer/kit/states.tsx'

const ids = Object.keys(keyTable) as KeyId[]
const groups = [...new Set(ids.map((id) => keyTable[id].group))]

/** All shortcuts at a glance. */
export function KeySheet() {
  const { isKeySheetOpen, closeAll } = useWindow()
  const { bindings } = useKeyBindings()
  return (
    <Dialog
      isOpen={isKeySheetOpen}
      onClose={closeAll}
      title="Keys"
      description="Change them under Settings, Keys."
      width={720}
    >
      <div className="columns-2 gap-8">
        {groups.map((group) => (
          <section key={group} className="mb-4 break-inside-avoid">
            <h3 className="mb-1 text-sm font-medium text-muted">{group}</h3>
            <dl>
              {ids
                .filter((id) => keyTable[id].group === group)
                .map((id) => (
                  <div key={id} className="flex min-h-7 items-center gap-3 border-b border-line">
                    <dt className="grow">{keyTable[id].label}</dt>
                    <dd className="flex gap-1">
                      {keysOf(id, bindings).map((key) => (
                        <Kbd key={key}>{keyWords(key)}</Kbd>
                      ))}
                    </dd>
                  </div>
                ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  )
}

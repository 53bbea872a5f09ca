import { Braces, Copy, Download, Pencil, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useCommand } from '#renderer/client/api.tsx'
import { copyText } from '#renderer/client/clipboard.ts'
import { fileNameOf, saveText } from '#renderer/client/download.ts'
import { useChoiceTitle } from '#renderer/client/modelChoice.ts'
import { navigate } from '#renderer/client/route.ts'
import { toast } from '#renderer/client/toasts.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { ConfirmDialog, Dialog } from '#renderer/kit/Dialog.tsx'
import { MoreMenu } from '#renderer/kit/Menu.tsx'
import { asJsonLines, asText, choicesOf, type Draft } from './conversation.ts'
import { TextField } from '#renderer/kit/inputs.tsx'

/** Copies, renames or deletes a conversation. */
export function ConversationMenu({ conversation }: { conversation: Draft }) {
  const { id, title } = conversation
  const [open, setOpen] = useState<'rename' | 'delete' | null>(null)
  const titles = choicesOf(conversation).map(useChoiceTitle())
  const copy = (text: string, what: string) => {
    void copyText(text, () => toast({ title: `The conversation was copied as ${what}.` }))
  }
  if (id === null) return null
  const close = () => setOpen(null)
  return (
    <>
      <MoreMenu
        label="More for this conversation"
        groups={[
          [
            { label: 'Copy as text', icon: Copy, run: () => copy(asText(conversation, titles), 'text') },
            {
              label: 'Copy as JSONL',
              icon: Braces,
              title: 'A line of messages for each column, as data sets of conversations have them.',
              run: () => copy(asJsonLines(conversation), 'JSONL'),
            },
            {
              label: 'Save as JSONL',
              icon: Download,
              run: () =>
                saveText(asJsonLines(conversation), `${fileNameOf(title)}.jsonl`, 'application/jsonl'),
            },
          ],
          [
            { label: 'Rename…', icon: Pencil, run: () => setOpen('rename') },
            { label: 'Delete…', icon: Trash2, isDangerous: true, run: () => setOpen('delete') },
          ],
        ]}
      />
      {open === 'rename' && <RenameDialog id={id} title={title} onClose={close} />}
      <DeleteDialog id={id} title={title} isOpen={open === 'delete'} onClose={close} />
    </>
  )
}

interface DialogProps {
  readonly id: string
  readonly title: string
  readonly onClose: () => void
}

function RenameDialog({ id, title, onClose }: DialogProps) {
  const [name, setName] = useState(title)
  const rename = useCommand('chat.update', { onDone: onClose })
  const isUsable = name.trim() !== '' && name.length <= 200
  const save = () => isUsable && void rename.run({ id, title: name.trim() })
  return (
    <Dialog
      onClose={onClose}
      title="Rename the conversation"
      actions={
        <Button variant="primary" disabled={!isUsable} onClick={save}>
          Rename
        </Button>
      }
    >
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        onKeyDown={({ key }) => key === 'Enter' && save()}
      />
    </Dialog>
  )
}

function DeleteDialog({ id, title, isOpen, onClose }: DialogProps & { readonly isOpen: boolean }) {
  const remove = useCommand('chat.delete', {
    onDone() {
      toast({ title: `“${title}” was deleted.` })
      navigate('/playground/chat', {}, { replace: true })
    },
  })
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onClose={onClose}
      title={`Delete “${title}”?`}
      action="Delete conversation"
      onConfirm={() => void remove.run({ id })}
    >
      Its messages, answers and labels are removed from this machine and cannot be brought back. Models,
      checkpoints and data sets made of labels stay.
    </ConfirmDialog>
  )
}

import type { RefObject } from 'react'

interface FileInputProps {
  /** Element to click for the dialog of the browser. */
  readonly input: RefObject<HTMLInputElement | null>
  readonly accept: string
  readonly label: string
  readonly onFile: (file: File) => void
}

/** Hidden input for one file, which may be the same as before. */
export const FileInput = ({ input, accept, label, onFile }: FileInputProps) => (
  <input
    ref={input}
    type="file"
    accept={accept}
    aria-label={label}
    className="hidden"
    onChange={({ target }) => {
      const file = target.files?.[0]
      if (file !== undefined) onFile(file)
      target.value = ''
    }}
  />
)

import { Search } from 'lucide-react'
import { useAnswer } from '#renderer/client/api.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { AnySelect, Checkbox } from '#renderer/kit/choices.tsx'
import { HubSettings, useHub } from '#renderer/kit/HubDialog.tsx'
import { SearchInput, Form } from '#renderer/kit/inputs.tsx'

/** Search terms; empty texts match anything. */
export interface Wanted {
  readonly words: string
  readonly family: string
  readonly license: string
  /** Largest number of parameters, in 10⁹. */
  readonly billions: string
  readonly onlyUsable: boolean
}

export const noFilters: Wanted = { words: '', family: '', license: '', billions: '', onlyUsable: true }

/** Most common licences of supported models. */
const licenses = ['apache-2.0', 'mit', 'llama3.2', 'gemma', 'cc-by-4.0', 'cc-by-nc-4.0']
const sizes = ['0.2', '0.5', '1', '2', '4', '8', '16']

interface SearchFormProps {
  readonly wanted: Wanted
  readonly onChange: (wanted: Wanted) => void
  readonly onSearch: () => void
  readonly onClear: () => void
  readonly hasAsked: boolean
}

export function SearchForm({ wanted, onChange, onSearch, onClear, hasAsked }: SearchFormProps) {
  const { data: families = [] } = useAnswer('hub.families', undefined)
  const hub = useHub()
  const set = (change: Partial<Wanted>) => onChange({ ...wanted, ...change })
  return (
    <Form
      role="search"
      className="flex flex-wrap items-center gap-2 border-b border-line px-page py-3"
      onSubmit={onSearch}
    >
      <SearchInput
        label="Words of the model’s name"
        value={wanted.words}
        onChange={(words) => set({ words })}
        className="w-64 max-w-full grow"
      />
      <AnySelect
        any="Any family"
        aria-label="Family"
        value={wanted.family}
        onChange={(family) => set({ family })}
        options={families}
      />
      <AnySelect
        any="Any size"
        aria-label="Size"
        value={wanted.billions}
        onChange={(billions) => set({ billions })}
        options={sizes.map((size) => ({ value: size, label: `Up to ${size} B` }))}
      />
      <AnySelect
        any="Any licence"
        aria-label="Licence"
        value={wanted.license}
        onChange={(license) => set({ license })}
        options={licenses}
      />
      <Checkbox
        checked={wanted.onlyUsable}
        onChange={(onlyUsable) => set({ onlyUsable })}
        label="Only what opens here"
      />
      <span className="ml-auto flex items-center gap-2">
        {hasAsked && (
          <Button variant="quiet" onClick={onClear}>
            Recommended models
          </Button>
        )}
        <Button type="submit" variant="primary" icon={Search}>
          Search the hub
        </Button>
      </span>
      <p className="basis-full text-sm text-faint">
        A search asks {hub} and no other server; the recommended models ask nobody. <HubSettings />
      </p>
    </Form>
  )
}

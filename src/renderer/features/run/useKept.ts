import { useState } from 'react'

/** The value as it was first, as long as the new one says the same: what is made from it need not be made anew. */
export function useKept<Value>(value: Value, saysTheSame: (kept: Value, value: Value) => boolean): Value {
  const [kept, setKept] = useState(value)
  const isSame = kept === value || saysTheSame(kept, value)
  if (!isSame) setKept(value)
  return isSame ? kept : value
}

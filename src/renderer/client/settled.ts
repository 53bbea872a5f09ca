import { useEffect, useState } from 'react'

/** The value once it has been the same for a moment: for questions asked while somebody types. Compared by its JSON. */
export function useSettled<T>(value: T, ms = 300): T {
  const [settled, setSettled] = useState(value)
  const key = JSON.stringify(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(JSON.parse(key) as T), ms)
    return () => clearTimeout(timer)
  }, [key, ms])
  return settled
}

const hasSameJson = (kept: unknown, value: unknown): boolean => JSON.stringify(kept) === JSON.stringify(value)

/** The value as it was first, as long as the new one says the same: what is made from it need not be made anew. */
export function useKept<Value>(
  value: Value,
  saysTheSame: (kept: Value, value: Value) => boolean = hasSameJson,
): Value {
  const [kept, setKept] = useState(value)
  const isSame = kept === value || saysTheSame(kept, value)
  if (!isSame) setKept(value)
  return isSame ? kept : value
}

import { useEffect, useState } from 'react'

/** Returns the value once it has been unchanged for `ms`, for requests made while typing. Compared by its JSON. */
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

/** Returns the first of equal values, so that results derived from it need not be recomputed. */
export function useKept<Value>(
  value: Value,
  saysTheSame: (kept: Value, value: Value) => boolean = hasSameJson,
): Value {
  const [kept, setKept] = useState(value)
  const isSame = kept === value || saysTheSame(kept, value)
  if (!isSame) setKept(value)
  return isSame ? kept : value
}

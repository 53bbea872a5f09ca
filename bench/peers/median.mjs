export const median = (values) => {
  const list = values.toSorted((a, b) => a - b)
  const middle = list.length >> 1
  return list.length % 2 ? list[middle] : (list[middle - 1] + list[middle]) / 2
}

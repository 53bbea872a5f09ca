/** An entry of `added_tokens` in tokenizer.json: text that is always this one token and never part of another. */
export const specialToken = (id: number, content: string) => ({
  id,
  content,
  single_word: false,
  lstrip: false,
  rstrip: false,
  normalized: false,
  special: true,
})

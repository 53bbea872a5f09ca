/** For `fold(…) LIKE ? ESCAPE '\'`: anything that holds the text, whatever its case. undefined stays undefined. */
export const likePattern = <Text extends string | undefined>(text: Text): Text =>
  (text === undefined ? undefined : `%${text.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`) as Text

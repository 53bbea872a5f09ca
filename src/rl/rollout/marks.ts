/** Marks that say whether a row's answer is good. */

/** Words that judge an answer whatever their column is called. */
export const verdicts = {
  good: /^(?:good|accept(?:ed)?|approved?|liked?|upvoted?|thumbs[_ -]?up|desirable|desired|👍)$/i,
  bad: /^(?:bad|reject(?:ed)?|disapproved?|disliked?|downvoted?|thumbs[_ -]?down|undesirable|undesired|👎)$/i,
}

/** One mark as data sets write it, numbers as such or as the text that tables hold; null for anything else. */
export function markOf(value: unknown): boolean | null {
  if (typeof value === 'boolean') return value
  const said = typeof value === 'string' || typeof value === 'number' ? String(value).trim() : ''
  if (/^(?:true|yes|\+?1(?:\.0)?)$/i.test(said) || verdicts.good.test(said)) return true
  return /^(?:false|no|0(?:\.0)?|-1(?:\.0)?)$/i.test(said) || verdicts.bad.test(said) ? false : null
}

/** KTO's own column names and those that can mean nothing but a mark. */
export const markNames: readonly string[] = [
  ...['label', 'kto_tag', 'labels', 'liked', 'is_liked', 'desirable', 'is_desirable', 'is_good', 'thumbs_up'],
  ...['thumb_up', 'upvoted', 'accepted', 'is_accepted', 'approved', 'is_approved', 'good'],
]

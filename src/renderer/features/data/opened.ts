import type { Answer } from '#renderer/client/api.tsx'

/** A version that somebody looks at: what is known of it, what it seems to be, which rows of its file were left out. */
export type Opened = Answer<'datasets.version'>

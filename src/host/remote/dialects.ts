/** The servers that are spoken with. */
import type { Dialect } from './dialect.ts'
import type { ServerSettings } from './settings.ts'
import { sglang } from './sglang.ts'
import { vllm } from './vllm.ts'

export const dialects: Readonly<Record<ServerSettings['kind'], Dialect>> = { vllm, sglang }

import path from 'node:path'
import { resourcesDirectory } from '#host/dataDirectory.ts'

/** A picture that comes with the program. */
export const iconFile = (name: string): string => path.join(resourcesDirectory, 'icons', name)

/** Removes the folders that a test file made, also those that its tests made. */
import { afterAll } from 'vitest'
import { removeTemporaryFolders } from './host/files/temporaryFolder.ts'

afterAll(removeTemporaryFolders)

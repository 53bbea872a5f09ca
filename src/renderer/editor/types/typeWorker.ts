/** Worker for the type checker, so that typing never waits for it. */
import { expose } from 'comlink'
import { libraries } from './libraries.ts'
import { createTypeService } from './typeService.ts'

expose(createTypeService(libraries))

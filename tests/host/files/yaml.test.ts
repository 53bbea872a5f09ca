import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { readAccelerateFile } from '#host/engines/launch.ts'
import { frontMatter } from '#host/hub/card.ts'
import { readStudyFile } from '#host/studies/studyFile.ts'
import { temporaryFolder } from './temporaryFolder.ts'

const endless = 'sweep: &s {parameters: {}, self: *s}\nnum_processes: 2\n'

test('a value that holds itself is no study, no config of accelerate and no card', () => {
  const file = path.join(temporaryFolder(), 'endless.yaml')
  writeFileSync(file, endless)
  expect(() => readStudyFile(file, 'sweep')).toThrow(
    `${file} is not valid YAML: an alias stands inside what it names`,
  )
  expect(readAccelerateFile(file)).toBeNull()
  expect(frontMatter(`---\n${endless}---\n`)).toEqual({})
})

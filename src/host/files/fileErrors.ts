import { AppError } from '#shared/errors.ts'

const writeReasons: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EACCES: 'this account may not write there',
  EPERM: 'this account may not write there',
  EROFS: 'the disk is read-only',
  ENOENT: 'the folder does not exist',
  ENOTDIR: 'a part of the path is a file, not a folder',
  EISDIR: 'a folder with that name is in the way',
  ENAMETOOLONG: 'the name is too long',
  EMFILE: 'too many files are open',
  EFBIG: 'the file would become larger than is allowed here',
}

const readReasons: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  EACCES: 'this account may not read it',
  EPERM: 'this account may not read it',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of the path is a file, not a folder',
  ELOOP: 'its links lead in a circle',
  ENAMETOOLONG: 'the name is too long',
  EMFILE: 'too many files are open',
  ERR_INVALID_ARG_VALUE: 'the path holds a forbidden character',
}

/** The system's name of a failure, such as ENOSPC; '' when it is not a file error. */
export function systemCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}

/** A run's folder went away while a process wrote into it: nothing is made again in its place. */
export const runIsGone = (directory: string): AppError =>
  new AppError('file/unwritable', `${directory} no longer exists: it was removed or moved during training.`, {
    text: 'The run ended here. If the folder was moved, put it back and resume the run; if it was removed, its checkpoints are gone.',
    command: '`turnwise resume` resumes it.',
  })

/** A failed write as one clear sentence; passes an AppError on unchanged. */
export function writeError(path: string, error: unknown): AppError {
  if (error instanceof AppError) return error
  const code = systemCode(error)
  const reason = writeReasons[code] ?? (code === '' ? String(error) : `the system answered ${code}`)
  const hint =
    code === 'ENOSPC' || code === 'EDQUOT'
      ? 'The previous file is untouched. Free some space and try again.'
      : 'The previous file is untouched. Choose another folder or change its permissions.'
  return new AppError('file/unwritable', `${path} could not be written: ${reason}.`, hint, error)
}

/** A failed read as one clear sentence; passes an AppError on unchanged. */
export function readError(path: string, error: unknown): AppError {
  if (error instanceof AppError) return error
  const code = systemCode(error)
  const reason = readReasons[code] ?? (code === '' ? String(error) : `the system answered ${code}`)
  return new AppError('file/unreadable', `${path} could not be read: ${reason}.`, undefined, error)
}

/** Returns what an action returns that reads a file; throws its failure as `readError` says it. */
export function reading<T>(path: string, action: () => T): T {
  try {
    return action()
  } catch (error) {
    throw readError(path, error)
  }
}

/** Returns what an action returns that writes a file; throws its failure as `writeError` says it. */
export function writing<T>(path: string, action: () => T): T {
  try {
    return action()
  } catch (error) {
    throw writeError(path, error)
  }
}

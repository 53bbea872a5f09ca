/** A training process that says something to the standard error and dies. */
process.stderr.write('first words\nthe last words of a process\n')
process.on('message', () => process.exit(7))

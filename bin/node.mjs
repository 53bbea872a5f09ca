/** Which Node is new enough. Nothing here may need it: an older one reads this file too. */

/** From here on native modules may read memory that threads share. */
const needed = [24, 9]

export function isNewEnough() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  return major > needed[0] || (major === needed[0] && minor >= needed[1])
}

export const nodeProblem = `Needs Node ${needed.join('.')} or newer, and this is Node ${process.versions.node}.`

/**
 * What is published names nothing that only this repository has: not the private package that the
 * build compiles into each plugin, not the commands of this checkout.
 */
export const hooks = {
  beforePacking(manifest) {
    const { devDependencies, scripts: _commands, packageManager: _starter, ...published } = manifest
    if (devDependencies === undefined) return published
    const named = Object.entries(devDependencies).filter(([name]) => !name.startsWith('@dsh-graph/'))
    return { ...published, devDependencies: Object.fromEntries(named) }
  },
}

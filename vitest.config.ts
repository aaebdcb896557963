import { defineConfig } from 'vitest/config'
import projects from './vitest.workspace.ts'

/** Where a machine-readable report goes, for whoever counts the tests. */
const report = process.env['VITEST_REPORT']

export default defineConfig({
  test: {
    projects,
    reporters: report === undefined ? ['default'] : ['default', ['json', { outputFile: report }]],
  },
})

/**
 * The test projects of the monorepo. `vitest.config.ts` imports this list as `test.projects`;
 * vitest does not look for this file by itself.
 *
 * - `unit`: everything that runs in one process, package by package.
 * - `e2e`: the real `dsh` process, packed tarballs, the wire. One file at a time.
 */
import type { TestProjectConfiguration } from 'vitest/config'
import { CHROMIUM } from './tests/support/chromium.ts'

/** Specs that need a browser; a machine without one leaves them out, and says so. */
const WITH_BROWSER = 'tests/e2e/web-ui*.spec.ts'

if (CHROMIUM === undefined) console.warn(`no Chromium here: ${WITH_BROWSER} is left out`)

const projects: TestProjectConfiguration[] = [
  {
    test: {
      name: 'unit',
      include: ['packages/*/tests/**/*.spec.ts', 'examples/**/tests/**/*.spec.ts', 'tests/unit/**/*.spec.ts'],
      globalSetup: ['packages/durable-log/tests/support/postgres-setup.ts'],
      testTimeout: 30_000,
    },
  },
  {
    test: {
      name: 'e2e',
      include: ['tests/e2e/**/*.spec.ts'],
      exclude: CHROMIUM === undefined ? [WITH_BROWSER] : [],
      fileParallelism: false,
      testTimeout: 240_000,
      hookTimeout: 240_000,
    },
  },
]

export default projects

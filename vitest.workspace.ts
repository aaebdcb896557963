/**
 * The test projects of the monorepo. `vitest.config.ts` imports this list as `test.projects`;
 * vitest does not look for this file by itself.
 *
 * - `unit`: everything that runs in one process, package by package.
 * - `e2e`: the real `dsh` process, packed tarballs, the wire. One file at a time.
 */
import type { TestProjectConfiguration } from 'vitest/config'

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
      fileParallelism: false,
      testTimeout: 240_000,
      hookTimeout: 240_000,
    },
  },
]

export default projects

/**
 * Builds the browser half of a package: `client/index.tsx` becomes the one script that its
 * `exports["./client"]` names, in the form that DSH's web app loads.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'

/** What the web app has for every plugin; everything else goes into the script. */
export const PAGE_MODULES: readonly string[] = [
  'react',
  'react/jsx-runtime',
  'react-dom',
  'react-dom/client',
  '@deepseek-ai/cordis',
  '@deepseek-ai/dsh-client-ui-slots',
  '@deepseek-ai/dsh-client-ui-primitives',
  '@deepseek-ai/dsh-client-runtime/client',
]

/** Of what goes into a script; each is under the MIT licence, whose text is in `LICENSE`. */
const INCLUDED: Readonly<Record<string, string>> = {
  'dsh-graph-host':
    '/*! Includes @dagrejs/dagre and @dagrejs/graphlib, Copyright (c) 2012-2014 Chris Pettitt, MIT licence. */',
}

/** The script is CommonJS within a call, and named so. Does nothing for a package without a browser half. */
export async function buildClient(dir: string, name: string): Promise<void> {
  const entry = join(dir, 'client', 'index.tsx')
  if (!existsSync(entry)) return
  await build({
    entryPoints: [entry],
    outfile: join(dir, 'dist', 'client.cjs'),
    bundle: true,
    minify: true,
    format: 'cjs',
    platform: 'browser',
    target: 'es2022',
    jsx: 'automatic',
    loader: { '.css': 'text' },
    external: [...PAGE_MODULES],
    legalComments: 'none',
    logLevel: 'warning',
    define: { 'process.env.NODE_ENV': '"production"' },
    tsconfig: join(dir, 'client', 'tsconfig.json'),
    banner: {
      js: `${INCLUDED[name] ?? ''}\nwindow.__ModuleLoader__.load({ id: ${JSON.stringify(name)}, factory: (require) => { var module = { exports: {} }; var exports = module.exports;`,
    },
    footer: { js: 'return module.exports; } });' },
  })
}

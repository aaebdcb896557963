/** Versions of what a host stands on, read from the manifests that this process would load. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const OURS = [
  'dsh-graph',
  'dsh-graph-host',
  'dsh-tool-graph',
  'dsh-graph-control',
  'dsh-agent-loop-host',
  'dsh-durable-log',
  'dsh-graph-runtime',
]
const HOSTS = [
  '@deepseek-ai/dsh',
  '@deepseek-ai/cordis',
  '@deepseek-ai/dsh-agent',
  '@deepseek-ai/dsh-session',
  '@deepseek-ai/dsh-tools',
  '@langchain/langgraph',
]
const resolver = createRequire(import.meta.url)

/** By package name; a package that is not there is left out. */
export function versionsFound(): Readonly<Record<string, string>> {
  const found = [...OURS, ...HOSTS].flatMap((name) => {
    const version = versionOf(name)
    return version === undefined ? [] : [[name, version] as const]
  })
  return {
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    ...Object.fromEntries(found),
  }
}

/** What is wrong with the versions. The members belong together. */
export function versionProblems(found: Readonly<Record<string, string>>): readonly string[] {
  const ours = OURS.flatMap((name) => (found[name] === undefined ? [] : [`${name} ${found[name]}`]))
  const versions = new Set(OURS.flatMap((name) => found[name] ?? []))
  return versions.size <= 1
    ? []
    : [`the members of the bundle have different versions (${ours.join(', ')}): install one version of all`]
}

function versionOf(name: string): string | undefined {
  for (const folder of resolver.resolve.paths(name) ?? []) {
    const version = versionIn(join(folder, name, 'package.json'), name)
    if (version !== undefined) return version
  }
  // This package itself, where it is not installed under its name.
  return name === 'dsh-graph-host'
    ? versionIn(join(dirname(import.meta.dirname), 'package.json'), name)
    : undefined
}

function versionIn(file: string, name: string): string | undefined {
  try {
    const manifest = JSON.parse(readFileSync(file, 'utf8')) as { name?: unknown; version?: unknown }
    return manifest.name === name && typeof manifest.version === 'string' ? manifest.version : undefined
  } catch {
    // Not there, or not readable: it is left out.
    return undefined
  }
}

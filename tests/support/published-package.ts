/** A package as a registry and its users get it: read from the packed tarball. */
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import type { PackedPackage } from '../../scripts/pack.ts'
import { filesIn, readFrom } from './tarball.ts'

/** The fields of a packed manifest that hubs and hosts look at. */
export interface PublishedManifest {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly keywords: readonly string[]
  readonly license: string
  readonly repository: { readonly type: string; readonly url: string; readonly directory?: string }
  readonly type: string
  readonly main: string
  readonly types: string
  readonly icon: string
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  readonly engines: Readonly<Record<string, string>>
  readonly dsh: {
    readonly manifestVersion: number
    readonly bundle: { readonly patch: string }
    readonly engines: { readonly dsh: string }
  }
  readonly scripts?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

export class PublishedPackage {
  readonly manifest: PublishedManifest
  readonly manifestText: string
  /** Paths inside, without the leading `package/`. */
  readonly files: readonly string[]
  private readonly tarball: string

  constructor({ tarball }: PackedPackage) {
    this.tarball = tarball
    this.files = filesIn(tarball)
    this.manifestText = this.text('package.json')
    this.manifest = JSON.parse(this.manifestText) as PublishedManifest
  }

  text(file: string): string {
    return this.bytes(file).toString('utf8')
  }

  bytes(file: string): Buffer {
    return readFrom(this.tarball, file.replace(/^\.\//u, ''))
  }

  has(file: string): boolean {
    return this.files.includes(join(file))
  }

  /** Every file that an exports entry leads to; patterns with `*` as they stand. */
  exportTargets(): readonly string[] {
    return Object.values(this.manifest.exports).flatMap((target) =>
      typeof target === 'string' ? [target] : Object.values(target),
    )
  }

  /** Source of every JavaScript file, by path. */
  scripts(): readonly (readonly [path: string, source: string])[] {
    return this.files.filter((file) => /\.[cm]?js$/u.test(file)).map((file) => [file, this.text(file)])
  }

  /** Source of every declaration file, by path. */
  declarations(): readonly (readonly [path: string, source: string])[] {
    return this.files.filter((file) => /\.d\.[cm]?ts$/u.test(file)).map((file) => [file, this.text(file)])
  }
}

const SPECIFIERS = [
  /\b(?:import|export)\s[^'"`;]*?\bfrom\s*(['"])(?<specifier>[^'"\n]+)\1/gu,
  /\bimport\s*(['"])(?<specifier>[^'"\n]+)\1/gu,
  /\b(?:import|require)\s*\(\s*(['"])(?<specifier>[^'"\n]+)\1\s*\)/gu,
]

/** What a source imports, by any form. Comments are left out. */
export function importsOf(source: string): readonly string[] {
  const code = source.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gmu, '')
  return SPECIFIERS.flatMap((pattern) =>
    [...code.matchAll(pattern)].map((match) => match.groups?.['specifier'] ?? ''),
  )
}

/** The package that a bare specifier names; undefined for a relative path or a builtin. */
export function packageOf(specifier: string): string | undefined {
  if (/^(?:\.|\/|#)/u.test(specifier) || isBuiltin(specifier)) return undefined
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
}

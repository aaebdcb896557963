/**
 * What hubs and hosts ask of a package, asked of the packed tarballs. `README.md` tells which hosts
 * were tested; `compatibility.json` is the list.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import semver from 'semver'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PAGE_MODULES } from '../../scripts/build-client.ts'
import { publishedManifests } from '../../scripts/manifests.ts'
import { packOffline } from '../support/packed-packages.ts'
import { importsOf, packageOf, PublishedPackage } from '../support/published-package.ts'
import { insertedRows, parsePatch } from '../support/row-ids.ts'
import { tempFolder } from '../support/temp-folder.ts'

const ROOT = resolve(import.meta.dirname, '..', '..')
const META = 'dsh-graph'
const HOST_SCOPE = '@deepseek-ai/'
const PRIVATE_PACKAGE = /@dsh-graph\/[\w-]+/u
/** Where code of the user's own is loaded: directory hooks, off until pinned (docs/decisions/0006). */
const PINNED_CODE: Readonly<Record<string, readonly string[]>> = {
  'dsh-agent-loop-host': ['dist/index.js: import('],
}
/** Packages that are used where a profile has them, beside those of the host: spans. */
const OPTIONAL_COMPANIONS: Readonly<Record<string, readonly string[]>> = {
  'dsh-graph-host': ['@opentelemetry/api'],
}
const INSTALL_HOOKS = ['preinstall', 'install', 'postinstall', 'prepare', 'prepublish', 'prepack', 'postpack']
const MACHINE_PATH = /(?:^|[^\w.-])\/(?:work|root|home|Users|tmp)\/\w/u
const REGISTRY_HOST = /(?<![\w.])registry\.[a-z0-9-]+\.(?:org|com|net|cn|io|dev)\b|\bnpmjs\.(?:org|com)\b/u
const ICON_BYTES = 256 * 1024

interface Compatibility {
  readonly dsh: { readonly tested: readonly string[] }
  readonly cordis: { readonly tested: readonly string[] }
  readonly schemastery: { readonly tested: readonly string[] }
  readonly node: string
}

const compatibility = JSON.parse(readFileSync(join(ROOT, 'compatibility.json'), 'utf8')) as Compatibility
const sources = publishedManifests().map((file) => ({
  dir: dirname(file),
  name: (JSON.parse(readFileSync(file, 'utf8')) as { name: string }).name,
}))
const names = sources.map(({ name }) => name)

const tarballs = tempFolder('manifests')
const packages = new Map<string, PublishedPackage>()

beforeAll(() => {
  for (const packed of packOffline(tarballs.path)) packages.set(packed.name, new PublishedPackage(packed))
}, 120_000)

afterAll(() => tarballs[Symbol.dispose]())

function published(name: string): PublishedPackage {
  const found = packages.get(name)
  if (found === undefined) throw new Error(`${name} was not packed`)
  return found
}

function testedVersionsOf(host: string): readonly string[] {
  if (host === '@deepseek-ai/cordis') return compatibility.cordis.tested
  if (host === '@deepseek-ai/schemastery') return compatibility.schemastery.tested
  return compatibility.dsh.tested
}

/** Whether an exports target, perhaps with a `*`, leads to a file of the tarball. */
function leadsTo(target: string, file: string): boolean {
  const [before = '', after] = target.replace(/^\.\//u, '').split('*')
  return after === undefined ? file === before : file.startsWith(before) && file.endsWith(after)
}

/** Patches of the bundles that the tested DSH ships. */
function shippedPatches(): string[] {
  const dsh = realpathSync(join(ROOT, 'node_modules', '@deepseek-ai', 'dsh'))
  return ['dsh-base', 'dsh-web-app', 'dsh-headless'].map((bundle) =>
    readFileSync(join(dirname(dsh), bundle, 'cordis.patch.yml'), 'utf8'),
  )
}

it('packs the meta bundle and every member', () => {
  expect([...packages.keys()].sort()).toEqual([...names].sort())
  expect(names).toContain(META)
})

it('keeps every manifest as the list of tested hosts makes it', () => {
  const check = spawnSync(process.execPath, ['scripts/manifests.ts', '--check'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  expect(check.stderr).toBe('')
  expect(check.status).toBe(0)
})

describe.each(names)('%s', (name) => {
  it('is a bundle whose patch is inside', () => {
    const { manifest } = published(name)
    expect(manifest.dsh.manifestVersion).toBe(1)
    expect(manifest.dsh.bundle.patch).toBe('./cordis.patch.yml')
    expect(published(name).has('cordis.patch.yml')).toBe(true)
  })

  it('inserts rows in block form, with an id and a name each', () => {
    const text = published(name).text('cordis.patch.yml')
    const patch = parsePatch(text) as { insert: unknown[] }[]
    expect(patch).toEqual([{ insert: expect.any(Array) }])
    expect(patch[0]?.insert).toEqual(insertedRows(patch))
    expect(text).toMatch(/^- insert:\n {4}- id: /mu)
    expect(text).not.toMatch(/[[{]/u)
  })

  it('names itself in its row, and the meta bundle each of its members', () => {
    const rows = insertedRows(parsePatch(published(name).text('cordis.patch.yml'))).map((row) => row.name)
    const members = name === META ? Object.keys(published(META).manifest.dependencies ?? {}) : []
    expect([...rows].sort()).toEqual([name, ...members].sort())
  })

  it('has a built entry, and every door leads to a file inside', () => {
    const { manifest, files } = published(name)
    const built = [manifest.main, manifest.types, ...published(name).exportTargets()]
    expect(manifest.type).toBe('module')
    expect(manifest.main).toMatch(/\.js$/u)
    expect(built.filter((target) => !files.some((file) => leadsTo(target, file)))).toEqual([])
    expect(built.filter((target) => /(?<!\.d)\.ts$/u.test(target))).toEqual([])
    expect(manifest.exports['./package.json']).toBe('./package.json')
  })

  it('carries no sources, no build state, and no import of a source', () => {
    const { files } = published(name)
    const unbuilt = /(?<!\.d)\.[cm]?tsx?$|tsbuildinfo|(?:^|\/)(?:src|tests?)\//u
    expect(files.filter((file) => unbuilt.test(file))).toEqual([])
    const specifiers = published(name)
      .scripts()
      .flatMap(([file, source]) => importsOf(source).map((specifier) => `${file}: ${specifier}`))
    expect(specifiers.filter((line) => /: \..*\.tsx?$/u.test(line))).toEqual([])
    // A declaration may say `./x.ts`: that leads to `x.d.ts` beside it.
    const dangling = published(name)
      .declarations()
      .flatMap(([file, source]) =>
        importsOf(source)
          .filter((specifier) => specifier.startsWith('.'))
          .map((specifier) => join(dirname(file), specifier.replace(/(?:\.d)?\.[cm]?[jt]s$/u, '.d.ts')))
          .filter((declaration) => !files.includes(declaration)),
      )
    expect(dangling).toEqual([])
  })

  it('imports nothing that it does not declare', () => {
    const { manifest } = published(name)
    const declared = new Set([
      name,
      ...Object.keys(manifest.dependencies ?? {}),
      ...Object.keys(manifest.peerDependencies ?? {}),
    ])
    const code = [...published(name).scripts(), ...published(name).declarations()]
    // What a browser half asks for the page has: DSH's web app gives it, not an installer.
    const isOfPage = (file: string, imported: string) =>
      file === 'dist/client.cjs' && PAGE_MODULES.some((module) => packageOf(module) === imported)
    const undeclared = code.flatMap(([file, source]) =>
      importsOf(source)
        .map(packageOf)
        .filter((imported): imported is string => imported !== undefined && !declared.has(imported))
        .filter((imported) => !isOfPage(file, imported))
        .map((imported) => `${file}: ${imported}`),
    )
    expect(undeclared).toEqual([])
  })

  it('tells in one line what it is, who may use it, and where it comes from', () => {
    const { manifest, manifestText } = published(name)
    expect(manifest.name).toMatch(/^dsh-[a-z0-9-]+$/u)
    expect(semver.valid(manifest.version)).toBe(manifest.version)
    expect(manifest.description).toMatch(/^[^\n\r]{20,160}$/u)
    expect(manifestText).toContain('"description": ')
    expect(manifest.keywords).toContain('dsh-plugin')
    expect(manifest.license).toBe('MIT')
    expect(published(name).text('LICENSE')).toMatch(/^MIT License/u)
    expect(manifest.repository.type).toBe('git')
    expect(manifest.repository.url).toBe(published(META).manifest.repository.url)
    const folder = basename(sources.find((source) => source.name === name)?.dir ?? '')
    expect(manifest.repository.directory).toBe(name === META ? undefined : `packages/${folder}`)
  })

  it('has a README in English and Chinese that link to each other', () => {
    expect(published(name).text('README.md').split('\n').slice(0, 4).join('\n')).toContain('README.zh-CN.md')
    expect(published(name).text('README.zh-CN.md').split('\n').slice(0, 4).join('\n')).toContain('README.md')
  })

  it('has a title and a description in both languages, and an icon', () => {
    const { manifest } = published(name)
    expect(manifest.exports['./locale/*.json']).toBe('./locale/*.json')
    for (const language of ['en', 'zh']) {
      const { meta } = JSON.parse(published(name).text(`locale/${language}.json`)) as {
        meta: { title: string; description: string }
      }
      expect(meta).toEqual({ title: expect.stringMatching(/\S/u), description: expect.stringMatching(/\S/u) })
    }
    expect(manifest.exports['./icon']).toBe(manifest.icon)
    expect(published(name).bytes(manifest.icon).length).toBeLessThanOrEqual(ICON_BYTES)
    expect(published(name).text(manifest.icon)).toMatch(/<svg[\s>]/u)
  })

  it('takes host packages as optional peers, never as dependencies', () => {
    const { manifest } = published(name)
    const dependencies = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })
    expect(dependencies.filter((dependency) => dependency.startsWith(HOST_SCOPE))).toEqual([])
    const all = Object.keys(manifest.peerDependencies ?? {})
    const peers = all.filter((peer) => peer.startsWith(HOST_SCOPE))
    const others = all.filter((peer) => !peer.startsWith(HOST_SCOPE))
    expect(others).toEqual(OPTIONAL_COMPANIONS[name] ?? [])
    expect(others.filter((peer) => manifest.peerDependenciesMeta?.[peer]?.optional !== true)).toEqual([])
    expect(peers).toContain('@deepseek-ai/cordis')
    const actual = peers.map((peer) => ({
      peer,
      optional: manifest.peerDependenciesMeta?.[peer]?.optional,
      dev: manifest.devDependencies?.[peer],
    }))
    expect(actual).toEqual(
      peers.map((peer) => ({ peer, optional: true, dev: testedVersionsOf(peer).at(-1) })),
    )
  })

  it('accepts every host version that was tested', () => {
    const { manifest } = published(name)
    const refused = Object.entries(manifest.peerDependencies ?? {}).flatMap(([peer, range]) =>
      (peer.startsWith(HOST_SCOPE) ? testedVersionsOf(peer) : []).flatMap((version) =>
        semver.satisfies(version, range) ? [] : [`${peer} ${range}: ${version}`],
      ),
    )
    expect(refused).toEqual([])
    expect(manifest.engines['dsh']).toBe(manifest.dsh.engines.dsh)
    expect(
      compatibility.dsh.tested.filter((version) => !semver.satisfies(version, manifest.dsh.engines.dsh)),
    ).toEqual([])
    expect(manifest.engines['node']).toBe(compatibility.node)
    expect(semver.satisfies(process.versions.node, compatibility.node)).toBe(true)
  })

  it('pins its siblings and all it depends on exactly', () => {
    const dependencies = Object.entries(published(name).manifest.dependencies ?? {})
    expect(dependencies.filter(([, range]) => semver.valid(range) === null)).toEqual([])
    const siblings = dependencies.filter(([dependency]) => packages.has(dependency))
    expect(siblings).toEqual(siblings.map(([sibling]) => [sibling, published(sibling).manifest.version]))
    expect(published(name).manifestText).not.toMatch(/"(?:workspace|catalog|link|file):/u)
  })

  it('runs nothing when it is installed', () => {
    const scripts = Object.keys(published(name).manifest.scripts ?? {})
    expect(scripts.filter((script) => INSTALL_HOOKS.includes(script))).toEqual([])
    expect(published(name).files.filter((file) => /(?:^|\/)binding\.gyp$|\.node$/u.test(file))).toEqual([])
  })

  it('builds no code from text and loads no module by a computed name, but what a person pinned', () => {
    const computed = /\bFunction\s*\(|\beval\s*\(|\b(?:require|import)\s*\(\s*(?!['"])/gu
    const found = published(name)
      .scripts()
      .flatMap(([file, source]) => (source.match(computed) ?? []).map((match) => `${file}: ${match}`))
    expect(found).toEqual(PINNED_CODE[name] ?? [])
  })

  it('names no private package, no machine, and no registry', () => {
    const forbidden = [PRIVATE_PACKAGE, MACHINE_PATH, REGISTRY_HOST]
    const found = published(name).files.flatMap((file) => {
      const text = published(name).text(file)
      return forbidden.flatMap((pattern) => (pattern.exec(text) ?? []).map((match) => `${file}: ${match}`))
    })
    expect(found).toEqual([])
  })
})

describe('all rows together', () => {
  it('have ids that nobody else uses', () => {
    const ours = names.flatMap((name) => insertedRows(parsePatch(published(name).text('cordis.patch.yml'))))
    const shipped = shippedPatches().flatMap((patch) => insertedRows(parsePatch(patch)))
    expect(shipped.length).toBeGreaterThan(50)
    const ids = ours.map(({ id }) => id)
    const taken = new Set(shipped.map(({ id }) => id))
    expect(ids.filter((id, index) => ids.indexOf(id) !== index || taken.has(id))).toEqual([])
  })

  it('override no row of the shipped bundles', () => {
    const patches = names.flatMap((name) => parsePatch(published(name).text('cordis.patch.yml')) as object[])
    expect(patches.filter((entry) => 'id' in entry)).toEqual([])
  })

  it('leave the scripted model out of the meta bundle', () => {
    const text = published(META).text('cordis.patch.yml')
    expect(text).not.toContain('llm-scripted')
    expect(published(META).manifest.dependencies).not.toHaveProperty('dsh-llm-scripted')
  })
})

describe('the entry of the meta bundle', () => {
  it('is a plugin that names the members it reports on', async () => {
    const entry = (await import(join(ROOT, 'index.js'))) as {
      name: string
      apply: unknown
      members: Record<string, string>
    }
    expect(entry.name).toBe(META)
    expect(entry.apply).toBeTypeOf('function')
    const members = Object.keys(published(META).manifest.dependencies ?? {})
    expect(members).toEqual(expect.arrayContaining(Object.keys(entry.members)))
  })
})

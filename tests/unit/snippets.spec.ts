/**
 * The blocks of the documents: TypeScript and JavaScript compile against the packages as they are
 * built, rows boot through the real loader, and each block that nothing runs says why. The commands
 * are run by `tests/e2e/documents.spec.ts`.
 */
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { loadOverlayPatches } from '@deepseek-ai/dsh-app-boot'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { parse } from 'yaml'
import { Composition, ROOT, standaloneRows, type RowText } from '../support/composition.ts'
import { databaseUrl, newSchema, query } from '../../packages/durable-log/tests/support/postgres.ts'
import { AGENT_USAGE, parseAgentArguments } from '../../packages/graph-host/src/agent-shell/arguments.ts'
import { USAGE as GRAPH_COMMAND_USAGE } from '../../packages/graph-host/src/command.ts'
import { parseShellArguments, USAGE } from '../../packages/graph-host/src/shell/arguments.ts'
import { documents, inChinese, placeOf, snippetsOf, textOf, type Snippet } from '../support/snippets.ts'
import { tempFolder } from '../support/temp-folder.ts'

const LANGUAGES = ['', 'dockerfile', 'ini', 'js', 'json', 'mermaid', 'sh', 'sql', 'text', 'ts', 'yaml']

/**
 * How many blocks of a document nothing runs. Whoever adds one raises the number here; a block gets
 * its `<!-- not run: reason -->` only where no test can run it.
 */
const NOT_RUN: Readonly<Record<string, number>> = {
  'README.md': 1,
  'docs/deployment.md': 3,
  'packages/durable-log/README.md': 1,
}

const files = documents()
const snippets = files.flatMap(snippetsOf)

describe('the documents', () => {
  it('are there, each in both languages', () => {
    expect(files.length).toBeGreaterThan(10)
    expect(files.filter((file) => !existsSync(join(ROOT, inChinese(file))))).toEqual([])
  })

  it('have blocks of known languages only', () => {
    expect(snippets.length).toBeGreaterThan(30)
    expect(snippets.filter(({ language }) => !LANGUAGES.includes(language)).map(placeOf)).toEqual([])
    // A fence that the reading of the documents misses would be run by nothing.
    const fences = files.map((file) => (textOf(file).match(/^ *(?:```|~~~)/gmu) ?? []).length / 2)
    expect(fences).toEqual(files.map((file) => snippetsOf(file).length))
  })

  it('count what nothing runs, and say why', () => {
    const idle = snippets.filter(({ marker }) => marker === 'not run')
    expect(idle.filter(({ value }) => value.length < 12).map(placeOf)).toEqual([])
    const counted = Object.fromEntries(
      files.flatMap((file) => {
        const count = idle.filter((snippet) => snippet.file === file).length
        return count === 0 ? [] : [[file, count]]
      }),
    )
    expect(counted).toEqual(NOT_RUN)
  })

  it('show files as they are', () => {
    const shown = snippets.filter(({ marker }) => marker === 'file')
    expect(shown.length).toBeGreaterThan(0)
    const others = shown.filter(({ text, value }) => !textOf(value).includes(`${text}\n`))
    expect(others.map(placeOf)).toEqual([])
  })

  it('of the folder are all in its index', () => {
    const index = textOf('docs/README.md')
    const missing = files.filter(
      (file) =>
        file.startsWith('docs/') && file !== 'docs/README.md' && !index.includes(`](${file.slice(5)})`),
    )
    expect(missing).toEqual([])
  })

  it('show screenshots that a browser test keeps, and every picture that there is', () => {
    const kept = globSync('tests/e2e/*.spec.ts', { cwd: ROOT }).flatMap((file) =>
      [...textOf(file).matchAll(/keepScreenshot\([^,]+, '([^']+)'\)/gu)].map(
        ([, name = '']) => `${name}.png`,
      ),
    )
    const pictures = readdirSync(join(ROOT, 'docs', 'images'))
    expect(pictures.filter((name) => name.endsWith('.png') && !kept.includes(name))).toEqual([])
    const texts = files.flatMap((file) => [textOf(file), textOf(inChinese(file))]).join('\n')
    expect(pictures.filter((name) => !texts.includes(`images/${name}`))).toEqual([])
  })

  it('hold JSON that can be read', () => {
    const broken = snippets.filter(({ language, text }) => language === 'json' && !isJson(text))
    expect(broken.map(placeOf)).toEqual([])
  })
})

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** A block as both languages must have it: comments are translated, drawings are. */
function essence({ language, marker, text, value }: Snippet): object {
  const isDrawing = language === '' || language === 'mermaid' || language === 'text'
  const code = text.split('\n').map((line) => line.replace(/(?:^|\s+)(?:\/\/|#)(?: |：).*$/u, '').trimEnd())
  return {
    language,
    marker,
    value: marker === 'not run' ? '' : value,
    text: isDrawing ? code.length : code.filter((line) => line !== ''),
  }
}

describe.each(files)('%s', (file) => {
  it('has the same blocks in both languages', () => {
    expect(snippetsOf(inChinese(file)).map(essence)).toEqual(snippetsOf(file).map(essence))
  })

  it('has the same headings, tables and links to other documents in both languages', () => {
    const shape = (name: string) => {
      const text = textOf(name).replaceAll(/^```[^]*?^```$/gmu, '')
      return {
        headings: (text.match(/^#+ /gmu) ?? []).join(''),
        rows: (text.match(/^\|/gmu) ?? []).length,
        images: (text.match(/!\[/gu) ?? []).length,
      }
    }
    expect(shape(inChinese(file))).toEqual(shape(file))
  })

  it('leads only where there is something', () => {
    expect([file, inChinese(file)].flatMap(lostLinksOf)).toEqual([])
  })
})

/** Links to files that are not there, and to headings that a document does not have. */
function lostLinksOf(name: string): readonly string[] {
  const links = [...textOf(name).matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]*))?\)/gu)]
  return links.flatMap(([, to = '', anchor]) => {
    const target = to === '' ? name : join(name, '..', to)
    const isThere =
      existsSync(join(ROOT, target)) && (anchor === undefined || anchorsOf(textOf(target)).has(anchor))
    return isThere ? [] : [`${name}: ${to}${anchor === undefined ? '' : `#${anchor}`}`]
  })
}

/** Headings as forges name them. */
function anchorsOf(text: string): ReadonlySet<string> {
  const headings = [...text.matchAll(/^#+ (.+)$/gmu)].map(([, heading = '']) => heading)
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .trim()
        .replaceAll(/\s/gu, '-'),
    ),
  )
}

describe('commands that the text names', () => {
  const named = files
    .flatMap((file) => [file, inChinese(file)])
    .flatMap((file) => [...textOf(file).matchAll(/`((?:dsh-graph|dsh-agent|\/graph) [^`\n]+)`/gu)])
    .map(([, command = '']) => command)
  const unquoted = (words: string): readonly string[] =>
    words.split(/\s+/u).map((word) => word.replaceAll(/^'|'$/gu, ''))

  it('are understood by the shell', () => {
    const shells = { 'dsh-graph': parseShellArguments, 'dsh-agent': parseAgentArguments } as const
    const wrong = named.flatMap((command) => {
      const [shell = '', ...words] = unquoted(command)
      if (!(shell in shells) || !/^[a-z-]+$/u.test(words[0] ?? '')) return []
      const usage = shell === 'dsh-graph' ? USAGE : AGENT_USAGE
      try {
        shells[shell as keyof typeof shells](words)
        return usage.includes(`${shell} ${words[0]}`) || words[0]?.startsWith('--') ? [] : [command]
      } catch (error) {
        return [`${command}: ${String(error)}`]
      }
    })
    expect(named.length).toBeGreaterThan(40)
    expect(wrong).toEqual([])
  })

  it('are verbs of /graph', () => {
    const verbs = new Set(GRAPH_COMMAND_USAGE.match(/(?<=\/graph )[a-z]+/gu))
    const wrong = named.filter((command) => {
      const verb = /^\/graph ([a-z]+)/u.exec(command)?.[1]
      return verb !== undefined && !verbs.has(verb)
    })
    expect(wrong).toEqual([])
  })
})

/** A folder in which snippets find what a user's own package would. */
function layOutModules(folder: string): void {
  const modules = join(folder, 'node_modules')
  mkdirSync(modules)
  const sources = [join(ROOT, 'node_modules'), join(ROOT, 'packages', 'graph-runtime', 'node_modules')]
  for (const source of sources)
    for (const name of readdirSync(source))
      if (!name.startsWith('.') && !existsSync(join(modules, name)))
        symlinkSync(join(source, name), join(modules, name))
}

describe('TypeScript and JavaScript', () => {
  const code = files
    .flatMap((file) => [file, inChinese(file)])
    .flatMap(snippetsOf)
    .filter(({ language, marker }) => (language === 'ts' || language === 'js') && marker !== 'file')

  it('compile against the packages', { timeout: 120_000 }, () => {
    expect(code.length).toBeGreaterThan(20)
    using folder = tempFolder('snippets')
    layOutModules(folder.path)
    const named = new Map<string, Snippet>()
    for (const [index, snippet] of code.entries()) {
      const name = `snippet-${index}.${snippet.language}`
      named.set(name, snippet)
      const isModule = /^(?:import|export)\b/mu.test(snippet.text)
      writeFileSync(join(folder.path, name), `${snippet.text}\n${isModule ? '' : 'export {}\n'}`)
    }
    const givens = readFileSync(join(ROOT, 'tests', 'support', 'snippet-givens.d.ts'), 'utf8')
    writeFileSync(join(folder.path, 'givens.d.ts'), givens)
    writeFileSync(join(folder.path, 'package.json'), '{ "type": "module" }')
    const compilerOptions = {
      noEmit: true,
      declaration: false,
      allowJs: true,
      checkJs: true,
      noImplicitAny: false,
    }
    const config = {
      extends: join(ROOT, 'tsconfig.base.json'),
      // Of a document's code no more is asked than that it is right.
      compilerOptions: {
        ...compilerOptions,
        rewriteRelativeImportExtensions: false,
        erasableSyntaxOnly: false,
        noPropertyAccessFromIndexSignature: false,
      },
      include: ['*.ts', '*.js'],
    }
    writeFileSync(join(folder.path, 'tsconfig.json'), JSON.stringify(config))
    const tsc = join(ROOT, 'node_modules', '.bin', 'tsc')
    const { status, stdout } = spawnSync(tsc, ['-p', folder.path, '--pretty', 'false'], {
      cwd: folder.path,
      encoding: 'utf8',
    })
    const told = stdout.replaceAll(/snippet-\d+\.(?:ts|js)/gu, (name) => {
      const snippet = named.get(name)
      return snippet === undefined ? name : `${placeOf(snippet)} +`
    })
    expect(told).toBe('')
    expect(status).toBe(0)
  })
})

/** The part of a schemastery schema that tells which keys there are. */
interface Schema {
  readonly type: string
  readonly dict?: Readonly<Record<string, Schema>>
  readonly inner?: Schema
}

/** Keys that an object schema does not have, with the path to them. Schemastery lets them pass. */
function unknownKeys({ dict, inner, type }: Schema, value: unknown, path: string): readonly string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
  return Object.entries(value).flatMap(([key, held]) => {
    const at = `${path}.${key}`
    if (type === 'dict') return inner === undefined ? [] : unknownKeys(inner, held, at)
    if (type !== 'object' || dict === undefined) return []
    const schema = dict[key]
    return schema === undefined ? [at] : unknownKeys(schema, held, at)
  })
}

describe('rows', () => {
  const yaml = snippets.filter(
    ({ language, marker }) => language === 'yaml' && (marker === undefined || marker === 'patch'),
  )
  const own = standaloneRows()

  /** The composition of the repository, in which the rows of a block take the place of ours. */
  function around(block: string): readonly RowText[] {
    const rows = parse(block) as readonly { id: string; name: string }[]
    const names = new Set(rows.map(({ name }) => name))
    // One model is enough: a row of another takes its place.
    const others = own.filter(({ name }) => !names.has(name) && name !== 'dsh-llm-scripted')
    return [
      ...others.filter(({ name }) => name.startsWith('@deepseek-ai/')),
      ...others.filter(({ name }) => name.startsWith('dsh-')),
      { id: 'block', name: 'block', text: `${block}\n` },
    ]
  }

  // Rows that need a database have one of their own, whose schemas are theirs by default.
  beforeAll(async () => {
    const server = await databaseUrl()
    const database = newSchema()
    await query(server, `CREATE DATABASE ${database}`)
    const url = new URL(server)
    url.pathname = `/${database}`
    vi.stubEnv('DATABASE_URL', url.href)
    return async () => {
      vi.unstubAllEnvs()
      await query(server, `DROP DATABASE ${database} WITH (FORCE)`)
    }
  })

  it.each(
    yaml.filter(({ marker }) => marker !== 'patch').map((snippet) => [placeOf(snippet), snippet] as const),
  )('of %s boot', async (_place, { text }) => {
    await using composition = await Composition.boot({ rows: around(text) })
    expect(composition.unfinishedRows()).toEqual([])
    const rows = parse(text) as readonly { name: string }[]
    expect(composition.loadedRows()).toEqual(expect.arrayContaining(rows.map(({ name }) => name)))
    expect(composition.logs.filter(({ type }) => type === 'error')).toEqual([])
  })

  it('have no setting that their plugin does not know', async () => {
    const names = new Map(
      (parse(textOf('cordis.patch.yml')) as { insert: { id: string; name: string }[] }[]).flatMap(
        ({ insert }) => insert.map(({ id, name }) => [id, name] as const),
      ),
    )
    const unknown = await Promise.all(
      yaml.map(async (snippet) => {
        const rows = parse(snippet.text) as { id: string; name?: string; config?: object }[]
        const found = await Promise.all(
          rows.map(async ({ config, id, name = names.get(id) ?? '' }) => {
            if (config === undefined || !name.startsWith('dsh-')) return []
            const { Config } = (await import(name)) as { Config?: Schema }
            return Config === undefined ? [`${id} has no settings`] : unknownKeys(Config, config, id)
          }),
        )
        return found.flat().map((key) => `${placeOf(snippet)}: ${key}`)
      }),
    )
    expect(yaml.filter(({ text }) => text.includes('config:')).length).toBeGreaterThan(2)
    expect(unknown.flat()).toEqual([])
  })

  const patches = yaml.filter(({ marker }) => marker === 'patch')
  it.each(patches.map((snippet) => [placeOf(snippet), snippet] as const))(
    'that %s changes are those of the bundle',
    async (_place, { text }) => {
      using folder = tempFolder('patch')
      const file = join(folder.path, 'cordis.patch.yml')
      writeFileSync(file, `${text}\n`)
      const known = (parse(textOf('cordis.patch.yml')) as { insert: { id: string }[] }[]).flatMap(
        ({ insert }) => insert.map(({ id }) => id),
      )
      const changed = (parse(text) as { id?: string }[]).flatMap(({ id }) => (id === undefined ? [] : [id]))
      expect(known).toEqual(expect.arrayContaining(changed))
      await using composition = await Composition.boot({
        rows: own.filter(({ name }) => name.startsWith('@deepseek-ai/')),
        patches: [
          ...loadOverlayPatches('test', join(ROOT, 'cordis.patch.yml')),
          ...loadOverlayPatches('test', file),
        ],
      })
      expect(composition.unfinishedRows()).toEqual([])
      expect(composition.logs.filter(({ type }) => type === 'error')).toEqual([])
    },
  )
})

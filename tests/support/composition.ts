/**
 * A composition booted through the real Cordis loader in this process, over real DSH services. Its
 * folder is like a profile's: a `cordis.yml`, and a `node_modules` that leads to the workspace's
 * packages. The model is a server on 127.0.0.1 behind the DeepSeek route.
 */
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { format } from 'node:util'
import type { Context, Fiber } from '@deepseek-ai/cordis'
import type { Agent, CreateAgentOptions } from '@deepseek-ai/dsh-agent'
import { boot } from '@deepseek-ai/dsh-app-boot'
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import { SessionId } from '@deepseek-ai/dsh-session'
import { startMockLlm, type MockLlm, type Responder } from './mock-llm.ts'
import { tempFolder, type TempFolder } from './temp-folder.ts'

export const ROOT = resolve(import.meta.dirname, '..', '..')
const ROUTE = { provider: 'deepseek-official', model: 'deepseek-v4-flash' } as const
/** State of a fiber that has loaded; Cordis keeps the names to itself. */
const ACTIVE = 2

/** One row of a composition file, with its text as it stands. */
export interface RowText {
  readonly id: string
  readonly name: string
  readonly text: string
}

export interface LogLine {
  readonly type: string
  /** The logger's name; ours are package names. */
  readonly name: string
  readonly text: string
}

/** A row as the loader has it. */
interface LoadedRow {
  readonly options: { readonly id: string; readonly name: string }
  readonly disabled: boolean
  readonly fiber?: Fiber
}

/** The part of the Cordis loader that the tests use. */
interface RowLoader {
  entries(): Iterable<LoadedRow>
  create(row: { id: string; name: string; config?: unknown }): Promise<string>
  remove(id: string): Promise<void>
}

/** The rows of the repository's own `cordis.yml`; paths in it are made absolute. */
export function standaloneRows(): readonly RowText[] {
  return readFileSync(join(ROOT, 'cordis.yml'), 'utf8')
    .split(/^(?=- id: )/mu)
    .slice(1)
    .map((text) => ({
      id: /^- id: (\S+)/u.exec(text)?.[1] ?? '',
      name: /^ {2}name: '?([^'\n]+)'?$/mu.exec(text)?.[1] ?? '',
      text: text.replace(/^( {2}name: )\.\//mu, `$1${ROOT}/`).replaceAll(/^#.*\n|^\n/gmu, ''),
    }))
}

/** A row without configuration. */
export function row(id: string, name: string): RowText {
  return { id, name, text: `- id: ${id}\n  name: ${JSON.stringify(name)}\n` }
}

/** A folder in which the packages of this workspace resolve as in a profile. */
function layOut(folder: string, rows: readonly RowText[]): string {
  const modules = join(folder, 'node_modules')
  mkdirSync(modules)
  for (const name of readdirSync(join(ROOT, 'node_modules')))
    if (!name.startsWith('.')) symlinkSync(join(ROOT, 'node_modules', name), join(modules, name))
  symlinkSync(ROOT, join(modules, 'dsh-graph'))
  const file = join(folder, 'cordis.yml')
  writeFileSync(file, rows.map(({ text }) => text).join(''))
  return file
}

function setEnvironment(values: Readonly<Record<string, string>>): () => void {
  const before = Object.fromEntries(Object.keys(values).map((name) => [name, process.env[name]]))
  Object.assign(process.env, values)
  return () => {
    for (const [name, value] of Object.entries(before))
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
  }
}

export interface CompositionOptions {
  /** A file to boot as it stands, in place of `rows`. */
  readonly file?: string
  readonly rows?: readonly RowText[]
  readonly patches?: Parameters<typeof boot>[2]
  /** Default: says one sentence. */
  readonly respond?: Responder
  /** A home from an earlier boot; it is left there. */
  readonly home?: string
  /** What `DEEPSEEK_API_KEY` holds; default: a key. */
  readonly key?: string
}

export class Composition implements AsyncDisposable {
  readonly ctx: Context
  readonly llm: MockLlm
  readonly logs: readonly LogLine[]
  private readonly resources: AsyncDisposableStack

  private constructor(ctx: Context, llm: MockLlm, logs: readonly LogLine[], resources: AsyncDisposableStack) {
    this.ctx = ctx
    this.llm = llm
    this.logs = logs
    this.resources = resources
  }

  /** @throws Error in the loader's words when a row does not load. */
  static async boot(options: CompositionOptions): Promise<Composition> {
    await using stack = new AsyncDisposableStack()
    const folder: TempFolder = stack.use(tempFolder('composition'))
    const llm = stack.use(await startMockLlm(options.respond ?? (() => ({ text: 'Nothing to do.' }))))
    stack.defer(
      setEnvironment({
        DSH_HOME: options.home ?? join(folder.path, 'home'),
        DSH_TELEMETRY_DISABLED: '1',
        DEEPSEEK_API_KEY: options.key ?? 'mock',
        DEEPSEEK_BASE_URL: llm.baseUrl,
      }),
    )
    const logs: LogLine[] = []
    const listen = (ctx: Context) => {
      ctx.logger.exporter({
        levels: { default: 3 },
        export: ({ type, name, args }) =>
          void logs.push({ type, name, text: format(...(args as unknown[])) }),
      })
    }
    const file = options.file ?? layOut(folder.path, options.rows ?? [])
    const ctx = await boot('test', file, options.patches ?? [], listen)
    stack.defer(async () => void (await ctx.root.fiber.dispose()))
    return new Composition(ctx, llm, logs, stack.move())
  }

  /** Rows that are not active, as `id: state`. */
  unfinishedRows(): readonly string[] {
    return [...this.loader.entries()].flatMap(({ disabled, fiber, options }) =>
      disabled || fiber?.state === ACTIVE ? [] : [`${options.id}: ${fiber?.state ?? 'no fiber'}`],
    )
  }

  /** Names of the enabled rows. */
  loadedRows(): readonly string[] {
    return [...this.loader.entries()].filter(({ disabled }) => !disabled).map(({ options }) => options.name)
  }

  /** Adds a row to the running composition. */
  async add(id: string, name: string): Promise<void> {
    await this.loader.create({ id, name })
  }

  /** Takes away a row that `add` brought. */
  async remove(id: string): Promise<void> {
    await this.loader.remove(id)
  }

  async openSession(options: Partial<CreateAgentOptions> & { readonly id: string }): Promise<Agent> {
    const { id, meta, ...rest } = options
    const { agent } = await this.ctx.agents.create({
      sessionId: SessionId(id),
      agentOptions: ROUTE,
      ...rest,
      meta: { cwd: process.cwd(), ...meta },
    })
    return agent
  }

  /** One prompt; resolves when the session is at rest, wakes included. */
  async say(agent: Agent, text: string): Promise<void> {
    agent.followup(createUserMessage({ content: [{ type: 'text', text }], source: { kind: 'user' } }))
    await agent.whenIdle()
  }

  /** Log lines of one package and kind. */
  linesOf(name: string, type: string): readonly string[] {
    return this.logs.filter((line) => line.name === name && line.type === type).map(({ text }) => text)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.resources.disposeAsync()
  }

  private get loader(): RowLoader {
    return this.ctx.get('loader') as unknown as RowLoader
  }
}

/** The files of the deployment against each other, and against what they refer to. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { ROOT } from '../support/composition.ts'

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8')
}

/** Instructions with their continued lines in one. */
function instructions(): readonly (readonly [string, string])[] {
  const text = read('deploy/Containerfile')
    .replaceAll(/^#.*\n/gmu, '')
    .replaceAll(/\\\n\s*/gu, ' ')
  return [...text.matchAll(/^([A-Z]+) (.+)$/gmu)].map(([, name = '', rest = '']) => [name, rest] as const)
}

function restsOf(name: string): readonly string[] {
  return instructions().flatMap(([instruction, rest]) => (instruction === name ? [rest] : []))
}

interface Compose {
  readonly services: Readonly<Record<'postgres' | 'dsh', Record<string, unknown>>>
  readonly volumes: object
}

const compose = parse(read('deploy/compose.yml')) as Compose

/** Seconds of a text such as `40s`. */
function secondsOf(text: unknown): number {
  return Number(/^(\d+)s$/u.exec(String(text))?.[1])
}

describe('the container file', () => {
  it('begins with a base and ends as the entry', () => {
    expect(instructions()[0]?.[0]).toBe('FROM')
    expect(restsOf('ENTRYPOINT').map((rest) => JSON.parse(rest) as unknown)).toEqual([['node', 'entry.ts']])
    const [command = ''] = restsOf('CMD').filter((rest) => rest.startsWith('["web"'))
    expect(JSON.parse(command)).toEqual(['web', '--no-open', '--port', '8787'])
    const known = 'FROM ARG RUN USER WORKDIR ENV COPY VOLUME STOPSIGNAL HEALTHCHECK ENTRYPOINT CMD'
    expect(instructions().filter(([name]) => !known.split(' ').includes(name))).toEqual([])
  })

  it('copies what is there, and what it starts', () => {
    const copied = restsOf('COPY').flatMap((rest) =>
      rest
        .split(' ')
        .filter((word) => !word.startsWith('--'))
        .slice(0, -1),
    )
    expect(copied).toContain('deploy/entry.ts')
    expect(copied.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
  })

  it('does not run as root, keeps no secret, and installs versions of this repository', () => {
    expect(restsOf('USER')).toEqual(['node'])
    expect(restsOf('ENV').join()).not.toMatch(/KEY|TOKEN|PASSWORD|DATABASE_URL/u)
    const { packageManager, version } = JSON.parse(read('package.json')) as Record<string, string>
    expect(restsOf('ARG')).toEqual([
      `PNPM_VERSION=${packageManager?.split('@')[1]}`,
      `DSH_GRAPH_VERSION=${version}`,
    ])
  })

  it('asks the paths that the host serves', () => {
    expect(restsOf('HEALTHCHECK').join()).toContain('8787/graph-host/health')
    expect(read('packages/graph-host/src/health.ts')).toContain("'/graph-host/health'")
  })
})

describe('the installation of DSH', () => {
  it('is the one that the tests use', () => {
    const own = JSON.parse(read('package.json')) as { devDependencies: Record<string, string> }
    const service = JSON.parse(read('deploy/dsh/package.json')) as { dependencies: Record<string, string> }
    expect(service.dependencies).toEqual({ '@deepseek-ai/dsh': own.devDependencies['@deepseek-ai/dsh'] })
    const [mine, theirs] = ['pnpm-workspace.yaml', 'deploy/dsh/pnpm-workspace.yaml'].map(
      (file) => parse(read(file)) as { overrides: object; allowBuilds: object },
    )
    expect(theirs?.overrides).toEqual(mine?.overrides)
    expect(mine?.allowBuilds).toMatchObject(theirs?.allowBuilds ?? {})
  })
})

describe('the compose file', () => {
  const { dsh, postgres } = compose.services

  it('knows no key that a service does not have', () => {
    const known =
      'image build network_mode environment depends_on ports volumes healthcheck init stop_grace_period restart'
    const keys = [dsh, postgres].flatMap((service) => Object.keys(service))
    expect(keys.filter((key) => !known.split(' ').includes(key))).toEqual([])
    expect(Object.keys(compose)).toEqual(['services', 'volumes'])
  })

  it('builds from files that are there, once the database is healthy', () => {
    const { context, dockerfile } = dsh['build'] as { context: string; dockerfile: string }
    expect(existsSync(join(ROOT, 'deploy', context, dockerfile))).toBe(true)
    expect(dsh['depends_on']).toEqual({ postgres: { condition: 'service_healthy' } })
    expect(postgres['healthcheck']).toMatchObject({
      test: ['CMD-SHELL', expect.stringContaining('pg_isready')],
    })
  })

  it('keeps what a host writes in volumes of its own', () => {
    const mounts = (dsh['volumes'] as string[]).map((mount) => mount.split(':') as [string, string])
    const [declared = ''] = restsOf('VOLUME')
    expect(mounts.map(([, path]) => path)).toEqual(JSON.parse(declared))
    const names = [
      ...mounts.map(([name]) => name),
      ...(postgres['volumes'] as string[]).map((m) => m.split(':')[0]),
    ]
    expect(names.toSorted()).toEqual(Object.keys(compose.volumes).toSorted())
  })

  it('opens ports on the loopback only, and holds no secret', () => {
    // DSH opens no port but on the loopback, so that has to be the machine's.
    expect([dsh['network_mode'], dsh['ports']]).toEqual(['host', undefined])
    expect(postgres['ports']).toEqual(['127.0.0.1:5432:5432'])
    expect((dsh['environment'] as Record<string, string>)['DATABASE_URL']).toContain('@127.0.0.1:5432/')
    const values = [dsh, postgres].flatMap(({ environment }) => Object.entries(environment as object))
    const secrets = values.filter(([name]) => /KEY|PASSWORD|URL/u.test(name))
    expect(secrets).toHaveLength(3)
    expect(secrets.filter(([, value]) => !/\$\{\w+:\?/u.test(String(value)))).toEqual([])
  })

  it('gives a stop the time that it may take', () => {
    const drainMs = Number((dsh['environment'] as Record<string, string>)['DSH_GRAPH_DRAIN_MS'])
    const constant = (name: string) =>
      Number(
        new RegExp(`^const ${name} = ([\\d_]+)$`, 'mu')
          .exec(read('deploy/entry.ts'))?.[1]
          ?.replaceAll('_', ''),
      )
    const longest = drainMs + constant('ANSWER_MS') + constant('DISPOSE_MS')
    expect(longest).toBeGreaterThan(10_000)
    expect(secondsOf(dsh['stop_grace_period']) * 1_000).toBeGreaterThan(longest)
  })

  it('moves the row of the log, as the bundle names it, to the database it is given', () => {
    const [row, ...more] = parse(read('deploy/cordis.patch.yml')) as {
      id: string
      config: Record<string, string>
    }[]
    expect(more).toEqual([])
    expect(read('cordis.patch.yml')).toContain(`- id: ${row?.id}\n      name: dsh-durable-log\n`)
    expect(row?.config).toEqual({ backend: 'postgres', connectionEnv: 'DATABASE_URL' })
    expect(Object.keys(dsh['environment'] as object)).toContain(row?.config['connectionEnv'])
  })
})

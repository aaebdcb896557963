/** The release before this one and this one, side by side on one database. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { postgresLog } from 'dsh-durable-log'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startPostgres } from '../../durable-log/tests/support/postgres-server.ts'
import { unfreeze } from '../chaos/frozen-hosts.ts'
import { BUILT, Host } from '../chaos/host-fleet.ts'
import { PROVIDER } from '../chaos/host-process.ts'
import { RunWatch } from '../chaos/run-watch.ts'
import { readRecord } from '../chaos/turn-record.ts'
import { sessionIdOfKey } from '../src/request.ts'

const BEFORE = '0.1.0'
const SESSIONS = ['a', 'b', 'c', 'd']
const ALL_OK = SESSIONS.map(() => 'ok')

class Upgrade {
  readonly folder = mkdtempSync(join(tmpdir(), 'rolling-upgrade-'))
  readonly record = join(this.folder, 'model.jsonl')
  private readonly server = startPostgres(['fsync=off', 'full_page_writes=off'])
  private readonly frozen: ReturnType<typeof unfreeze>
  private started = 0
  private asked = 0
  private watch: RunWatch | undefined

  constructor() {
    const folder = join(this.folder, 'frozen')
    mkdirSync(folder)
    this.frozen = unfreeze(BEFORE, folder)
    onTestFinished(async () => {
      await this.watch?.close()
      await (await this.server).stop()
      rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 })
    })
  }

  async start(version: 'before' | 'now'): Promise<Host> {
    const server = await this.server
    const packages = version === 'before' ? this.frozen : BUILT
    const settings = {
      ...packages,
      record: this.record,
      heartbeatMs: 10_000,
      afterCrash: 'interrupt' as const,
    }
    const name = `host-${(this.started += 1)}`
    const host = await Host.start({ name, skewMs: 0, settings, server, folder: this.folder })
    onTestFinished(() => host.destroy())
    await host.whenReady()
    return host
  }

  /** One run more for each session, asked for at these hosts by turns. @returns how they ended. */
  async runAll(hosts: readonly Host[]): Promise<readonly (string | undefined)[]> {
    const runIds = await Promise.all(
      SESSIONS.map(async (sessionKey) => {
        const host = hosts[(this.asked += 1) % hosts.length]
        const message = `number ${this.asked} takes 20`
        const model = { provider: PROVIDER, model: 'm' }
        const request = { sessionKey, message, idempotencyKey: message, model, cwd: this.folder }
        const { runId } = (await host?.order({ kind: 'accept', request })) ?? {}
        return runId
      }),
    )
    for (;;) {
      const ended = await this.ended()
      if (runIds.every((runId) => ended.get(runId ?? '') !== undefined)) {
        return runIds.map((runId) => ended.get(runId ?? ''))
      }
      await pause(50)
    }
  }

  /** The processes that ran each session, one after the other. */
  runners(sessionKey: string): readonly number[] {
    const sessionId = sessionIdOfKey(sessionKey)
    return readRecord(this.record).flatMap((call) => (call.sessionId === sessionId ? [call.pid] : []))
  }

  private async ended(): Promise<ReadonlyMap<string, string>> {
    if (this.watch === undefined) {
      const { url } = await this.server
      const log = postgresLog({ connectionString: url, pollIntervalMs: 100 })
      onTestFinished(() => log.close())
      this.watch = new RunWatch(log)
    }
    const streams = await this.watch.all()
    return new Map(
      [...streams.values()].flatMap((seen) =>
        seen.flatMap(({ entry }) =>
          entry.type === 'run/settled' ? [[entry.data.runId, entry.data.state] as const] : [],
        ),
      ),
    )
  }
}

describe('hosts of two releases on one database', () => {
  it("run each other's sessions, forth and back, with one history", async () => {
    const upgrade = new Upgrade()
    const before = await upgrade.start('before')
    expect(await upgrade.runAll([before])).toEqual(ALL_OK)
    const now = await upgrade.start('now')
    expect(await upgrade.runAll([before, now])).toEqual(ALL_OK)
    expect(await before.close(20_000)).toBeUndefined()
    expect(await upgrade.runAll([now])).toEqual(ALL_OK)
    const back = await upgrade.start('before')
    expect(await upgrade.runAll([now, back])).toEqual(ALL_OK)
    expect(await now.close(20_000)).toBeUndefined()
    expect(await upgrade.runAll([back])).toEqual(ALL_OK)
    const again = await upgrade.start('now')
    expect(await back.close(20_000)).toBeUndefined()
    expect(await upgrade.runAll([again])).toEqual(ALL_OK)
    const inOrder = [before, now, back, again].map(({ pid }) => pid)
    for (const sessionKey of SESSIONS) {
      const pids = upgrade.runners(sessionKey)
      expect(pids).toHaveLength(6)
      expect([...new Set(pids)]).toEqual(inOrder)
    }
    expect(await again.close(20_000)).toBeUndefined()
  }, 120_000)
})

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { type ProcessIdentity, systemProcesses } from '../src/index.ts'
import { isSameProcess, judgeProcess, parseProcess, type ProbePid } from '../src/process-identity.ts'

const self: ProcessIdentity = { pid: 10, startedAt: '500', bootId: 'boot', machineId: 'm', pidSpace: 'p' }
const other: ProcessIdentity = { ...self, pid: 20, startedAt: '600' }
const never: ProbePid = () => {
  throw new Error('must not look')
}

describe('judgeProcess', () => {
  it.each<[string, ProcessIdentity, ProbePid, string]>([
    ['a pid that nobody has', other, () => 'gone', 'dead'],
    ['the same pid and start time', other, () => ({ startedAt: '600' }), 'alive'],
    ['a reused pid', other, () => ({ startedAt: '601' }), 'dead'],
    ['a pid whose start time nobody knows', other, () => ({ startedAt: '' }), 'alive'],
    ['a holder that knew no start time', { ...other, startedAt: '' }, () => ({ startedAt: '6' }), 'alive'],
    ['an earlier start of the machine', { ...other, bootId: 'before' }, never, 'dead'],
    ['another machine', { ...other, machineId: 'n', bootId: 'b' }, never, 'unknown'],
    ['another container', { ...other, pidSpace: 'q' }, never, 'unknown'],
  ])('judges %s', (_, process, probe, state) => {
    expect(judgeProcess(process, self, probe)).toBe(state)
  })
})

describe('systemProcesses', () => {
  it('finds this process alive and knows it again', () => {
    const processes = systemProcesses()
    expect(processes.self.pid).toBe(process.pid)
    expect(processes.stateOf(processes.self)).toBe('alive')
    expect(isSameProcess(processes.self, systemProcesses().self)).toBe(true)
    expect(parseProcess(JSON.parse(JSON.stringify(processes.self)))).toEqual(processes.self)
  })

  it('finds a child alive until it was killed', async () => {
    const processes = systemProcesses()
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
    const identity = { ...processes.self, pid: child.pid ?? 0, startedAt: '' }
    expect(processes.stateOf(identity)).toBe('alive')
    const exit = once(child, 'exit')
    child.kill('SIGKILL')
    await exit
    expect(processes.stateOf(identity)).toBe('dead')
  })
})

describe('parseProcess', () => {
  it.each([
    undefined,
    null,
    7,
    [],
    {},
    { ...self, pid: 0 },
    { ...self, pid: -1 },
    { ...self, pid: 1.5 },
    { ...self, pid: '10' },
    { ...self, startedAt: 5 },
    { ...self, bootId: undefined },
    { ...self, machineId: null },
    { ...self, pidSpace: {} },
  ])('refuses %o', (value) => {
    expect(parseProcess(value)).toBeUndefined()
  })
})

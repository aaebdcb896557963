import { homedir } from 'node:os'
import { describe, expect, it } from 'vitest'
import { maskText } from '../src/doctor/mask.ts'
import { doctorLines } from '../src/doctor/report.ts'
import { versionProblems } from '../src/doctor/versions.ts'

const NONE = {}

describe('a report', () => {
  it.each([
    ['https://me:hunter2@example.com/x', 'https://***@example.com/x'],
    ['GET https://x.example/v1?model=a&key=abc123&n=1', 'GET https://x.example/v1?model=a&key=***&n=1'],
    [`the token npm_${'a'.repeat(36)}, hf_${'b'.repeat(30)}`, 'the token ***, ***'],
    [`AIza${'C'.repeat(35)} is refused`, '*** is refused'],
    ['-----BEGIN RSA PRIVATE KEY----- MIIE abc', '***'],
    ['postgres://user:p%40ss@db/graphs', 'postgres://***@db/graphs'],
    ['Authorization: Bearer abc.def-ghi', 'Authorization: *** ***'],
    ['sent bearer abcdef123456', 'sent bearer ***'],
    ['DEEPSEEK_API_KEY=sk12345', 'DEEPSEEK_API_KEY=***'],
    ['{"token":"abc","n":1}', '{"token":"***","n":1}'],
    ['key sk-abcdefgh1234 of ghp_0123456789', 'key *** of ***'],
    ['AKIAIOSFODNN7EXAMPLE', '***'],
    ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig', '***'],
    ['C:\\Users\\somebody\\x', 'C:\\Users\\***\\x'],
    [['', 'home', 'somebody', 'x'].join('/'), '/home/***/x'],
  ])('of %s shows no secret', (text, masked) => {
    const got = maskText(text, NONE)
    expect(got).toBe(masked)
  })

  it('shows no value of a secret of the environment, wherever it stands', () => {
    const environment = { MY_TOKEN: 'correct-horse', OTHER_KEY: 'correct-horse-battery', PLAIN: 'word' }
    expect(maskText('a correct-horse-battery and a correct-horse, a word', environment)).toBe(
      'a *** and a ***, a word',
    )
  })

  it('shows no home', () => {
    const dsh = ['', 'srv', 'me', '.dsh'].join('/')
    expect(maskText(`${homedir()}/x and ${dsh}/graph`, { DSH_HOME: dsh })).toBe('~/x and $DSH_HOME/graph')
  })

  it('keeps what a helper needs: versions, ids, numbers', () => {
    const text = 'dsh-graph-host 0.1.0, graph agent_graph_0123456789abcdef0123456789abcdef, 8 slots'
    expect(maskText(text, NONE)).toBe(text)
  })

  it('is lines in columns, without anything that a terminal would act on', () => {
    const lines = doctorLines({
      sections: { caps: { maxNewActivations: '8' } },
      lastErrors: [{ at: 0, from: 'dsh-graph-host', text: 'bad\u001B[2J\nnews' }],
      problems: ['service durableLog is missing'],
    })
    expect(lines[1]).toBe('  maxNewActivations        8')
    expect(lines[3]).toMatch(/dsh-graph-host: bad news$/u)
    expect(lines.at(-1)).toBe('  - service durableLog is missing')
  })
})

describe('versions', () => {
  it('are a problem where the members of the bundle differ', () => {
    const found = { 'dsh-graph-host': '0.1.0', 'dsh-tool-graph': '0.1.0', node: 'v24.0.0' }
    expect(versionProblems(found)).toEqual([])
    expect(versionProblems({ ...found, 'dsh-tool-graph': '0.2.0' })).toEqual([
      'the members of the bundle have different versions (dsh-graph-host 0.1.0, dsh-tool-graph 0.2.0): install one version of all',
    ])
  })
})

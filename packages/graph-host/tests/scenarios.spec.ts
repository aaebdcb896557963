/**
 * Which situation of a supervised graph is shown by which test: by the tags at the end of the titles, such
 * as `(scenario W7)`. What a test shows is not judged here.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'

const SCENARIOS: Readonly<Record<string, string>> = {
  // Reconcile and the driver of a graph.
  R1: 'a follow-up on an operator runs while new work still waits',
  R2: 'new work gets its operator, then the first run that was reserved with it',
  R3: 'a stop or a replacement of something that is not there is refused',
  R4: 'a work that fails is reported before slower siblings end',
  R5: 'an input that cannot be read fails its own work and nothing else',
  R6: 'a restart makes no second operator',
  R7: 'the next graph of a root begins when the one before is finished',
  R8: 'a failure is there after a restart',
  R9: 'every operator of a stopped graph is stopped, although stopping one of them fails',
  R10: 'a poison work does not block its siblings',
  R11: 'a stop acts while a sibling runs',
  R12: 'a slot that gets free is taken by the next work',
  R13: 'after a restart finished work does not run again, and running work is observed',
  R14: 'a cascading stop reaches what was added later, and only what it means',
  // Inputs.
  H1: 'what is handed over is what was committed',
  H2: '16 KiB of an input, 48 KiB of all',
  H3: 'a work whose input is not there does not run',
  H4: 'text of another operator is data',
  // Wakes.
  W1: 'a crash before the message of a wake was kept: delivered once',
  W2: 'a crash after the message of a wake was kept: delivered once',
  W3: 'a conversation that overflows in the turn of a wake',
  W4: 'a conversation that overflows again and again: bounded, tried again',
  W5: 'a root that waits for its person',
  W6: 'an answer that comes at once, or while the wake is parked',
  W7: 'a turn of a wake that was cut off by a crash is made again',
  W8: 'a turn of a wake that ended unseen is not made again',
  W9: 'a graph that was finished before its wake was sent',
  W10: 'a root whose session is gone',
  W11: 'a process that shuts down in the middle of a wake',
  W12: 'a person who stops, and stops again',
  W13: 'a wake of a graph that was finished, and another graph after it',
  W14: 'a root that is busy',
  W15: 'a pause after a failed delivery, which grows',
  W16: 'the end of trying',
  W17: 'turns at a time, again and again',
  // Composition.
  C1: 'the real loader with the rows of a file',
  C2: 'the tools by a preset and by the row, before and after their host',
}

const ROOT = resolve(import.meta.dirname, '..', '..', '..')
const FOLDERS = [
  'packages/graph-host/tests',
  'packages/tool-graph/tests',
  'packages/graph-control/tests',
  'tests/unit',
  'tests/e2e',
]

/** At the end of a literal. */
const TAGGED = /\(scenarios? ([A-Z]\d+(?:, [A-Z]\d+)*)\)['"`]/gu

function tagged(): ReadonlySet<string> {
  const texts = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder))
      .filter((file) => file.endsWith('.spec.ts'))
      .map((file) => readFileSync(join(ROOT, folder, file), 'utf8')),
  )
  return new Set(
    texts.flatMap((text) => [...text.matchAll(TAGGED)].flatMap(([, ids = '']) => ids.split(', '))),
  )
}

it('each scenario ends the title of a test', () => {
  const shown = tagged()
  expect(Object.keys(SCENARIOS).filter((id) => !shown.has(id))).toEqual([])
})

it('no title has a tag of something that does not exist', () => {
  expect([...tagged()].filter((id) => SCENARIOS[id] === undefined)).toEqual([])
})

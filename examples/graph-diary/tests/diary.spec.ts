/** The example in a composition that the real loader boots, beside the bundle; and as the docs show it. */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { Composition, row, standaloneRows } from '../../../tests/support/composition.ts'
import { snippetsOf } from '../../../tests/support/snippets.ts'
import { supervisingModel } from '../../../tests/support/supervising-model.ts'

const FOLDER = resolve(import.meta.dirname, '..')

it('keeps a diary of graphs and turns, as a row beside the bundle', async () => {
  const rows = standaloneRows().filter(({ id }) => id !== 'llm-scripted' && id !== 'graph-examples')
  const model = supervisingModel()
  await using composition = await Composition.boot({
    rows: [...rows, row('graph-diary', join(FOLDER, 'index.js'))],
    respond: model.respond,
  })
  expect(composition.unfinishedRows()).toEqual([])
  const root = await composition.openSession({ id: 'root' })
  await composition.say(root, 'Gather both halves and join them.')
  const diary = readFileSync(join(process.env['DSH_HOME'] ?? '', 'graph-diary.txt'), 'utf8')
  expect(diary.match(/^an operator ended turn 1 well$/gmu)).toHaveLength(3)
  expect(diary).toMatch(/^the root ended turn 1 well$/mu)
  expect(diary).toMatch(/^graph agent_graph_[0-9a-f]+ is at 1$/mu)
  expect(composition.logs.filter(({ type }) => type === 'error')).toEqual([])
})

it('uses the host and what is public of the bundle, nothing else', () => {
  const source = readFileSync(join(FOLDER, 'index.js'), 'utf8')
  const imported = [...source.matchAll(/from '([^']+)'/gu)].map(([, name]) => name)
  expect(imported).toEqual(['node:fs', '@deepseek-ai/dsh-home-paths'])
})

it('is what the quick start builds', () => {
  const saved = snippetsOf('docs/quick-start-plugins.md').filter(({ marker }) => marker === 'save')
  expect(saved.map(({ value }) => value)).toEqual(['index.js', 'package.json', 'cordis.patch.yml'])
  expect(saved.map(({ text }) => `${text}\n`)).toEqual(
    saved.map(({ value }) => readFileSync(join(FOLDER, value), 'utf8')),
  )
})

/**
 * Boots the standalone composition, supervises one graph, disposes everything, and calls no `exit`:
 * the process ends by itself only when nothing was left behind.
 */
import { join } from 'node:path'
import { Composition, ROOT } from './composition.ts'
import { supervisingModel } from './supervising-model.ts'

const model = supervisingModel()
const composition = await Composition.boot({ file: join(ROOT, 'cordis.yml'), respond: model.respond })
const agent = await composition.openSession({ id: 'root' })
await composition.say(agent, 'Gather both halves and join them.')
if (model.nonce() === undefined)
  throw new Error(composition.llm.failures.join('\n') || 'no operator was asked')
await composition[Symbol.asyncDispose]()
process.stdout.write('disposed\n')

/**
 * What an end-to-end test stands on: every package packed, a registry that has nothing else, an
 * installation of DSH, a model. All of it is on 127.0.0.1 or in a temporary folder.
 */
import type { PackedPackage } from '../../scripts/pack.ts'
import { installDsh } from './dsh-installation.ts'
import { DshBench } from './dsh-process.ts'
import { startLoopbackRegistry, type LoopbackRegistry } from './loopback-registry.ts'
import { startMockLlm, type MockLlm } from './mock-llm.ts'
import { packOffline } from './packed-packages.ts'
import { tempFolder } from './temp-folder.ts'

export interface Stage extends AsyncDisposable {
  readonly packed: readonly PackedPackage[]
  readonly registry: LoopbackRegistry
  readonly llm: MockLlm
  /** @throws Error when there is no such package of ours. */
  package(name: string): PackedPackage
  /** A fresh home; gone with the stage. */
  bench(): DshBench
}

export async function raiseStage(): Promise<Stage> {
  await using stack = new AsyncDisposableStack()
  const tarballs = stack.use(tempFolder('tarballs'))
  const packed = packOffline(tarballs.path)
  const registry = stack.use(await startLoopbackRegistry(packed))
  const llm = stack.use(await startMockLlm(() => ({ text: 'Hello from the mock.' })))
  const installation = stack.use(installDsh())
  const owned = stack.move()
  return {
    packed,
    registry,
    llm,
    package(name) {
      const found = packed.find((one) => one.name === name)
      if (found === undefined) throw new Error(`there is no package ${name}`)
      return found
    },
    bench: () =>
      owned.use(new DshBench({ installation, registryUrl: registry.url, llmBaseUrl: llm.baseUrl })),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

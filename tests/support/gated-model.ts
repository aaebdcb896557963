/** The supervising model whose operators can be held at work, so that a test sees them running. */
import type { WireRequest } from './chat-wire.ts'
import type { MockAnswer } from './mock-llm.ts'
import { speakerOf, supervisingModel, type SupervisingModel } from './supervising-model.ts'

export type Speaker = ReturnType<typeof speakerOf>

export interface GatedModel extends SupervisingModel {
  /** Lets one speaker answer, now and from now on. */
  release(speaker: Speaker): void
  releaseAll(): void
}

/** @param held whoever is asked gives no answer before it is released. */
export function gatedModel(...held: readonly Speaker[]): GatedModel {
  const model = supervisingModel()
  const gates = new Map(held.map((speaker) => [speaker, Promise.withResolvers<void>()]))
  return {
    nonce: model.nonce,
    async respond(request: WireRequest): Promise<MockAnswer> {
      // Asked at once: the first two operators wait for each other.
      const answer = model.respond(request)
      await gates.get(speakerOf(request))?.promise
      return answer
    },
    release: (speaker) => gates.get(speaker)?.resolve(),
    releaseAll: () => {
      for (const gate of gates.values()) gate.resolve()
    },
  }
}

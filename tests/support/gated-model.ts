/** The supervising model whose operators can be held at work, so that a test sees them running. */
import type { WireRequest } from './chat-wire.ts'
import type { MockAnswer } from './mock-llm.ts'
import { speakerOf, supervisingModel, type SupervisingModel } from './supervising-model.ts'

export type Speaker = ReturnType<typeof speakerOf>

/** What the root answers to a wake that tells of a work that was stopped. */
const STOPPED_ANSWER = 'I was told to stop.'

function isTold({ lastSaid }: WireRequest, status: string): boolean {
  return lastSaid.startsWith('Agent graph ') && lastSaid.includes(` ${status}`)
}

/** A wait that was over before it began: operators may end while the root is at work. */
function afterYield(result: string): MockAnswer {
  const isOver = /\b0 pending\b/u.test(result)
  return {
    toolCalls: [
      isOver
        ? { name: 'view_agent_graph', arguments: { results: ['gamma'] } }
        : { name: 'yield_agent_graph', arguments: { reason: 'operators are still at work' } },
    ],
  }
}

export interface GatedModel extends SupervisingModel {
  /** Lets one speaker answer, now and from now on. */
  release(speaker: Speaker): void
  releaseAll(): void
}

/** The same model, but what the work `workId` did may not happen twice unasked. */
export function careful(model: GatedModel, workId: string): GatedModel {
  return {
    ...model,
    async respond(request) {
      const answer = await model.respond(request)
      const toolCalls = answer.toolCalls?.map((call) => {
        const { addWork } = call.arguments as { addWork?: readonly { workId: string }[] }
        if (addWork === undefined) return call
        const works = addWork.map((work) => (work.workId === workId ? { ...work, replay: 'confirm' } : work))
        return { ...call, arguments: { ...call.arguments, addWork: works } }
      })
      return toolCalls === undefined ? answer : { ...answer, toolCalls }
    },
  }
}

/** The same model with titles and words in Chinese. */
export function inChinese(model: GatedModel): GatedModel {
  const titles: Readonly<Record<string, string>> = { alpha: '前一半', beta: '后一半', gamma: '合并两半' }
  const orders: Readonly<Record<string, string>> = {
    alpha: '收集前一半。',
    beta: '收集后一半。',
    gamma: '把交给你的两半合起来。',
  }
  return {
    ...model,
    async respond(request) {
      if (speakerOf(request) === 'title') return { text: '两半' }
      const answer = await model.respond(request)
      const toolCalls = answer.toolCalls?.map((call) => {
        const { addWork } = call.arguments as {
          addWork?: readonly { workId: string; instruction: string }[]
        }
        if (addWork === undefined) return call
        const works = addWork.map(({ workId, instruction, ...work }) => ({
          ...work,
          workId,
          title: titles[workId],
          // The model knows its operators by the English words.
          instruction: `${orders[workId] ?? ''}\n\n${instruction}`,
        }))
        return { ...call, arguments: { ...call.arguments, addWork: works } }
      })
      if (toolCalls === undefined) return answer
      const text = answer.text === undefined ? {} : { text: '两半并行，然后合并。' }
      return { ...answer, ...text, toolCalls }
    },
  }
}

/** @param held whoever is asked gives no answer before it is released. */
export function gatedModel(...held: readonly Speaker[]): GatedModel {
  const model = supervisingModel()
  const gates = new Map(held.map((speaker) => [speaker, Promise.withResolvers<void>()]))
  return {
    nonce: model.nonce,
    async respond(request: WireRequest): Promise<MockAnswer> {
      if (speakerOf(request) === 'root') {
        if (isTold(request, 'stopped')) return { text: STOPPED_ANSWER }
        const { answeredCall } = request
        if (answeredCall?.name === 'yield_agent_graph') return afterYield(answeredCall.result)
      }
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

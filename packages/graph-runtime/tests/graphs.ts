/** Real LangGraph builders for the tests. */
import { Annotation, END, START, StateGraph } from '@langchain/langgraph'

export const EchoState = Annotation.Root({
  topic: Annotation<string>,
  log: Annotation<string[]>({ reducer: (left, right) => [...left, ...right], default: () => [] }),
})

/** One node, `echo`, that notes the topic. */
export function echoBuilder() {
  return new StateGraph(EchoState)
    .addNode('echo', (state) => ({ log: [`seen:${state.topic}`] }))
    .addEdge(START, 'echo')
    .addEdge('echo', END)
}

export const topicOnly = { topic: { type: 'string', required: true } } as const

/** A one-node graph whose state ends with whatever `value` gives. */
export function endingWith(value: (input: unknown, signal?: AbortSignal) => unknown) {
  const State = Annotation.Root({ input: Annotation<unknown>, out: Annotation<unknown> })
  return new StateGraph(State)
    .addNode('end', async (state, config) => ({ out: await value(state.input, config.signal) }))
    .addEdge(START, 'end')
    .addEdge('end', END)
}

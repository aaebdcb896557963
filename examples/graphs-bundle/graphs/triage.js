/** `triage`: conditional edges. One node reads the report, and its verdict picks the way through the graph. */
import { Annotation, END, START, StateGraph } from '@langchain/langgraph'
import { defineGraph } from 'dsh-graph-runtime'

const State = Annotation.Root({
  title: Annotation(),
  body: Annotation(),
  severity: Annotation(),
  route: Annotation(),
  reasons: Annotation({ reducer: (left, right) => [...left, ...right], default: () => [] }),
})

const SIGNS = [
  { word: 'outage', reason: 'mentions an outage' },
  { word: 'data loss', reason: 'mentions data loss' },
  { word: 'security', reason: 'mentions security' },
]

function read({ title, body, severity }) {
  const text = `${title}\n${body}`.toLowerCase()
  const seen = SIGNS.filter(({ word }) => text.includes(word)).map(({ reason }) => reason)
  return { reasons: [`severity is ${severity}`, ...seen] }
}

/** Name of the node that takes the report over. */
function nextNode({ severity, body, reasons }) {
  if (severity === 'critical' || reasons.length > 1) return 'page'
  return body.trim() === '' ? 'ask_back' : 'queue'
}

export const triage = defineGraph({
  name: 'triage',
  description: 'Routes a report to on-call, to the queue, or back to its author, and says why.',
  parameters: {
    title: { type: 'string', required: true, description: 'One line that names the problem.' },
    body: { type: 'string', required: true, description: 'What happened; may be empty.' },
    severity: {
      type: 'string',
      required: true,
      enum: ['low', 'normal', 'high', 'critical'],
      description: 'How bad it is, as the author sees it.',
    },
  },
  build: () =>
    new StateGraph(State)
      .addNode('read', read)
      .addNode('page', () => ({ route: 'on-call', reasons: ['cannot wait'] }))
      .addNode('queue', () => ({ route: 'queue', reasons: ['can wait its turn'] }))
      .addNode('ask_back', () => ({ route: 'author', reasons: ['the report says nothing yet'] }))
      .addEdge(START, 'read')
      .addConditionalEdges('read', nextNode, ['page', 'queue', 'ask_back'])
      .addEdge('page', END)
      .addEdge('queue', END)
      .addEdge('ask_back', END),
  asTool: true,
  concurrencySafe: true,
})

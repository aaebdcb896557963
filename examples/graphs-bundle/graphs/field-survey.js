/**
 * `field_survey`: two nodes in sequence. The first draws a nonce, which no earlier run can know, so
 * whoever reads the result can tell that the graph really ran.
 */
import { randomBytes } from 'node:crypto'
import { Annotation, END, START, StateGraph } from '@langchain/langgraph'
import { defineGraph } from 'dsh-graph-runtime'

const State = Annotation.Root({
  topic: Annotation(),
  nonce: Annotation(),
  findings: Annotation({ reducer: (left, right) => [...left, ...right], default: () => [] }),
})

export const fieldSurvey = defineGraph({
  name: 'field_survey',
  description: 'Surveys a topic and returns its findings with a nonce that is fresh for every run.',
  parameters: {
    topic: { type: 'string', required: true, description: 'What to survey, in a few words.' },
  },
  validate: (input) => (input.topic.trim() === '' ? 'topic must say what to survey' : true),
  build: () =>
    new StateGraph(State)
      .addNode('visit', ({ topic }) => ({
        nonce: randomBytes(8).toString('hex'),
        findings: [`visited "${topic}"`],
      }))
      .addNode('report', ({ topic, nonce, findings }) => ({
        findings: [`${findings.length} place seen for "${topic}", sealed with ${nonce}`],
      }))
      .addEdge(START, 'visit')
      .addEdge('visit', 'report')
      .addEdge('report', END),
  asTool: true,
})

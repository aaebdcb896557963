/** `word_count`: two nodes side by side, each counting in its own way, and a third that joins them. */
import { Annotation, END, START, StateGraph } from '@langchain/langgraph'
import { defineGraph } from 'dsh-graph-runtime'

const State = Annotation.Root({
  text: Annotation(),
  words: Annotation(),
  characters: Annotation(),
  lines: Annotation(),
  summary: Annotation(),
})

const plural = (count, noun) => `${count} ${noun}${count === 1 ? '' : 's'}`

export const wordCount = defineGraph({
  name: 'word_count',
  description: 'Counts the words, characters and lines of a text.',
  parameters: {
    text: { type: 'string', required: true, description: 'The text to count, as it is.' },
  },
  build: () =>
    new StateGraph(State)
      .addNode('count_words', ({ text }) => ({ words: text.match(/\S+/g)?.length ?? 0 }))
      .addNode('measure', ({ text }) => ({
        characters: Array.from(text).length,
        lines: text === '' ? 0 : text.split(/\r\n|\r|\n/).length,
      }))
      .addNode('join', ({ words, characters, lines }) => ({
        summary: [plural(words, 'word'), plural(characters, 'character'), plural(lines, 'line')].join(', '),
      }))
      .addEdge(START, 'count_words')
      .addEdge(START, 'measure')
      .addEdge(['count_words', 'measure'], 'join')
      .addEdge('join', END),
  asTool: true,
  concurrencySafe: true,
})

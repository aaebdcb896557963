export const name = 'tool-graph'

export const name = 'graph-control'

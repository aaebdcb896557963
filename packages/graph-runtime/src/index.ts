export const name = 'graph-runtime'

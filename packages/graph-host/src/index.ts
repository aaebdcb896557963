export const name = 'graph-host'
